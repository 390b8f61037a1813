import { copyPlain } from "../../base/copy-plain.ts";
import { messageOf } from "../../base/rollout-error.ts";
import type { JsonObject } from "../../base/json.ts";
import { toJson } from "../../base/to-json.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import type { ScorerRun } from "../../scoring/scorer.ts";
import type { ScorerResult } from "../summary.ts";
import { readField, readText } from "../targets/read-field.ts";
import type { ResolvedScorer } from "./resolve-scorers.ts";

/** Marks one item with every scorer at once; none of them can harm another, nor outlive the item's signal. */
export async function runScorersForItem(
  scorers: readonly ResolvedScorer[],
  run: ScorerRun,
): Promise<readonly ScorerResult[]> {
  const [only] = scorers;
  if (only === undefined) return [];
  if (scorers.length === 1) return [await runScorerSafe(only, run)];
  return await Promise.all(scorers.map((scorer) => runScorerSafe(scorer, run)));
}

/** What scorers say of an item they were not asked about. */
export function leaveUnscored(scorers: readonly ResolvedScorer[], reason: string): readonly ScorerResult[] {
  return scorers.map((scorer) => result(scorer, { reason }));
}

async function runScorerSafe(scorer: ResolvedScorer, run: ScorerRun): Promise<ScorerResult> {
  try {
    run.signal.throwIfAborted();
    const verdict = await raceWithSignal(call(scorer, run), run.signal, () => {});
    return readVerdict(scorer, verdict);
  } catch (thrown) {
    const message = messageOf(thrown);
    return result(scorer, { error: message === "" ? "it failed without a message" : message });
  }
}

// Async, so that a scorer that throws before it returns a promise rejects like the others.
async function call(scorer: ResolvedScorer, run: ScorerRun): Promise<unknown> {
  return await scorer.run({
    // What a scorer does to what it sees is seen by no other.
    input: copyPlain(run.input),
    output: copyPlain(run.output),
    groundTruth: copyPlain(run.groundTruth),
    metadata: copyPlain(run.metadata),
    itemId: run.itemId,
    durationMs: run.durationMs,
    usage: run.usage,
    error: run.error,
    signal: run.signal,
  });
}

/** A verdict as it counts: a finite number, or null; anything else is the scorer's error. */
export function readVerdict(scorer: Pick<ResolvedScorer, "id" | "name">, verdict: unknown): ScorerResult {
  const isBare = typeof verdict !== "object";
  const given = isBare || verdict === null ? verdict : readField(verdict, "score");
  const score = typeof given === "boolean" ? Number(given) : given;
  const notScorable = readField(verdict, "notScorable");
  if (notScorable !== undefined && score === undefined)
    return result(scorer, { reason: readText(notScorable, "reason") ?? "not scorable" });
  const reason = readText(verdict, "reason");
  const metadata = readMetadata(verdict);
  if (score === null) return result(scorer, { reason, metadata });
  if (typeof score === "number" && Number.isFinite(score)) return result(scorer, { score, reason, metadata });
  const shown = typeof score === "number" ? String(score) : `a value of type ${typeof score}`;
  return result(scorer, { reason, error: `it gave ${shown} instead of a finite number or null` });
}

function result(
  { id, name }: Pick<ResolvedScorer, "id" | "name">,
  { score = null, reason = null, error = null, metadata = null }: Partial<ScorerResult>,
): ScorerResult {
  return { scorerId: id, scorerName: name, score, reason, error, metadata };
}

function readMetadata(verdict: unknown): ScorerResult["metadata"] {
  const metadata = readField(verdict, "metadata");
  return typeof metadata === "object" && metadata !== null ? (toJson(metadata).json as JsonObject) : null;
}
