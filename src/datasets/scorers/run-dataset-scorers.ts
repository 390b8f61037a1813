import { messageOf } from "../../base/rollout-error.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import type { DatasetScorer, ScoredItem } from "../../scoring/scorer.ts";
import type { Store } from "../../store/store.ts";
import { readUnits } from "../results/read-earlier-work.ts";
import { fromUnit } from "../to-unit.ts";
import type { ItemWithScores, ScorerResult } from "../summary.ts";
import { readVerdict } from "./run-scorers.ts";

/** Where the results of a run are: in memory, or in a store. */
export interface RunResults {
  readonly items: readonly ItemWithScores[];
  /** Null when they are in memory. */
  readonly store: Store | null;
  readonly runId: string;
  readonly signal: AbortSignal;
}

/** Marks a run as a whole with every scorer at once; none of them can harm another. */
export async function runDatasetScorers(
  scorers: readonly DatasetScorer[],
  results: RunResults,
): Promise<readonly ScorerResult[]> {
  return await Promise.all(scorers.map((scorer) => runSafe(scorer, results)));
}

async function runSafe(scorer: DatasetScorer, results: RunResults): Promise<ScorerResult> {
  const named = { id: scorer.id, name: scorer.name ?? scorer.id };
  try {
    const verdict = await raceWithSignal(call(scorer, results), results.signal, () => {});
    return readVerdict(named, verdict);
  } catch (thrown) {
    return {
      scorerId: named.id,
      scorerName: named.name,
      score: null,
      reason: null,
      error: messageOf(thrown) || "it failed without a message",
      metadata: null,
    };
  }
}

// Async, so that a scorer that throws before it returns a promise rejects like the others.
async function call(scorer: DatasetScorer, results: RunResults): Promise<unknown> {
  return await scorer.runDataset({ items: readItems(results), signal: results.signal });
}

async function* readItems({ items, store, runId }: RunResults): AsyncIterable<ScoredItem> {
  if (store === null) for (const item of items) yield describe(item);
  else for await (const unit of readUnits(store, runId)) yield describe(fromUnit(unit));
}

function describe(item: ItemWithScores): ScoredItem {
  return {
    input: item.input,
    output: item.output,
    groundTruth: item.expectedOutput,
    itemId: item.itemId,
    metadata: item.metadata,
    durationMs: item.durationMs,
    usage: item.usage,
    error: item.error,
    repeat: item.repeat,
    scores: Object.fromEntries(item.scores.map(({ scorerId, score }) => [scorerId, score])),
  };
}
