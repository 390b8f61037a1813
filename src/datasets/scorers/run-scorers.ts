import { copyPlain } from "../../base/copy-plain.ts";
import { messageOf } from "../../base/rollout-error.ts";
import type { JsonObject } from "../../base/json.ts";
import { toJson } from "../../base/to-json.ts";
import { isThenable } from "../../engine/is-thenable.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import type { ScorerRun } from "../../scoring/scorer.ts";
import type { ScorerResult } from "../summary.ts";
import { readField, readText } from "../targets/read-field.ts";
import type { ResolvedScorer } from "./resolve-scorers.ts";

/**
 * Marks one item with every scorer at once; none of them can harm another, nor outlive the item's signal. No promise when
 * all of them answer without one.
 */
export function runScorersForItem(
  scorers: readonly ResolvedScorer[],
  run: ScorerRun,
): Promise<readonly ScorerResult[]> | readonly ScorerResult[] {
  const results = scorers.map((scorer) => runScorerSafe(scorer, run));
  return results.every(isAtHand) ? results : Promise.all(results.map((result) => Promise.resolve(result)));
}

function isAtHand(result: Promise<ScorerResult> | ScorerResult): result is ScorerResult {
  return !(result instanceof Promise);
}

/** What scorers say of an item they were not asked about. */
export function leaveUnscored(scorers: readonly ResolvedScorer[], reason: string): readonly ScorerResult[] {
  return scorers.map((scorer) => result(scorer, { reason }));
}

function runScorerSafe(scorer: ResolvedScorer, run: ScorerRun): Promise<ScorerResult> | ScorerResult {
  try {
    run.signal.throwIfAborted();
    const verdict = call(scorer, run);
    if (isThenable(verdict)) return waitForVerdict(scorer, verdict, run.signal);
    run.signal.throwIfAborted();
    return readVerdict(scorer, verdict);
  } catch (thrown) {
    return describeFailure(scorer, thrown);
  }
}

async function waitForVerdict(
  scorer: ResolvedScorer,
  verdict: PromiseLike<unknown>,
  signal: AbortSignal,
): Promise<ScorerResult> {
  try {
    return readVerdict(scorer, await raceWithSignal(Promise.resolve(verdict), signal, () => {}));
  } catch (thrown) {
    return describeFailure(scorer, thrown);
  }
}

function describeFailure(scorer: ResolvedScorer, thrown: unknown): ScorerResult {
  const message = messageOf(thrown);
  return result(scorer, { error: message === "" ? "it failed without a message" : message });
}

function call(scorer: ResolvedScorer, run: ScorerRun): unknown {
  return scorer.run({
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
