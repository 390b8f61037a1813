import type { JsonObject } from "../base/json.ts";
import { toJson } from "../base/to-json.ts";
import type { Unit, UnitFailure } from "../store/run.ts";
import type { ItemWithScores } from "./summary.ts";

/** What a run's items are shown under. */
export interface UnitNames {
  readonly target: string;
  readonly dataset: string;
  readonly repeats: number;
}

/** A name for one item and repeat. */
export function unitKey(itemId: string, repeat: number, { repeats }: UnitNames): string {
  return repeats === 1 ? itemId : `${itemId}#${repeat}`;
}

export function unitLabels(itemId: string, repeat: number, names: UnitNames): Record<string, string> {
  const labels = { target: names.target, dataset: names.dataset, item: itemId };
  return names.repeats === 1 ? labels : { ...labels, repeat: String(repeat) };
}

/** An item's result in the words that all doors share. */
export function toUnit(result: ItemWithScores, names: UnitNames): Unit {
  const { itemId, repeat, scores, usage } = result;
  return {
    key: unitKey(itemId, repeat, names),
    labels: unitLabels(itemId, repeat, names),
    marks: scores.map(({ scorerId, score }) => ({ name: scorerId, value: score })),
    failure: failureOf(result),
    phases: [],
    durationSec: result.durationMs / 1000,
    cost: usage?.costUsd ?? null,
    tries: result.retryCount + 1,
    warnings: [...warningsOf(result)],
  };
}

function failureOf({ error, errorDetails, isInterrupted }: ItemWithScores): UnitFailure | null {
  if (error === null) return null;
  if (isInterrupted) return { type: "item_cancelled", message: error, blame: "nobody" };
  const isTimeout = errorDetails?.name === "AbortReason";
  return { type: isTimeout ? "item_timeout" : "target_failed", message: error, blame: "agent" };
}

function* warningsOf({ error, scores, persistenceError }: ItemWithScores): Iterable<string> {
  for (const { scorerId, score, error: scorerError, reason } of scores) {
    if (scorerError !== null) yield `scorer "${scorerId}" failed: ${scorerError}`;
    else if (score === null && error === null)
      yield `scorer "${scorerId}" gave no score: ${reason ?? "without a reason"}`;
  }
  if (persistenceError !== null) yield `its result was not stored: ${persistenceError}`;
}

/** An item's result as plain JSON. */
export function toEventItem(result: ItemWithScores): JsonObject {
  return toJson(result).json as JsonObject;
}
