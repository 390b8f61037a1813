import type { Json, JsonObject } from "../base/json.ts";
import { toJson } from "../base/to-json.ts";
import { createFailure } from "../store/failure.ts";
import type { Failure, Score, Unit, UnitStatus } from "../store/run.ts";
import type { ErrorDetails, ItemWithScores, ScorerResult } from "./summary.ts";

/** The names that the items of a run are shown under. */
export interface UnitNames {
  readonly target: string;
  readonly dataset: string;
  readonly repeats: number;
}

/** Returns the key of one item and repeat. */
export function unitKey(itemId: string, repeat: number, { repeats }: UnitNames): string {
  return repeats === 1 ? itemId : `${itemId}#${repeat}`;
}

export function unitLabels(itemId: string, repeat: number, names: UnitNames): Record<string, string> {
  const labels = { target: names.target, dataset: names.dataset, item: itemId };
  return names.repeats === 1 ? labels : { ...labels, repeat: String(repeat) };
}

// A larger output is left out of its unit: one value must not take the store down.
const maxOutputCharacters = 64 * 1024 * 1024;

/** Returns an item's result as a unit of its run. */
export function toUnit(result: ItemWithScores, names: UnitNames): Unit {
  const { itemId, repeat, scores, usage } = result;
  const output = toJson(result.output);
  const isTooLarge = output.size > maxOutputCharacters;
  return {
    index: result.index,
    key: unitKey(itemId, repeat, names),
    labels: unitLabels(itemId, repeat, names),
    status: statusOf(result),
    scores: scores.map(toScore),
    failure: failureOf(result),
    phases: [],
    usage,
    spendUsd: usage?.costUsd ?? null,
    tries: result.retryCount + 1,
    startedAt: result.startedAt.getTime(),
    endedAt: result.completedAt.getTime(),
    durationSec: result.durationMs / 1000,
    input: result.input as Json,
    ...(result.expectedOutput === undefined ? {} : { expected: result.expectedOutput as Json }),
    output: isTooLarge ? null : output.json,
    artifacts: [],
    warnings: [...warningsOf(result)],
    untrusted: [],
    details: detailsOf(result, isTooLarge ? output.size : null),
  };
}

function detailsOf(result: ItemWithScores, omittedCharacters: number | null): JsonObject {
  const { itemId, itemVersion, repeat, metadata, traceId, errorDetails } = result;
  return {
    item_id: itemId,
    item_version: itemVersion,
    repeat,
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    ...(traceId === null ? {} : { trace_id: traceId }),
    ...(errorDetails === null ? {} : { error: { ...errorDetails } }),
    ...(omittedCharacters === null ? {} : { output_omitted: `about ${omittedCharacters} characters` }),
  };
}

function statusOf({ error, isInterrupted }: ItemWithScores): UnitStatus {
  return error === null ? "completed" : isInterrupted ? "cancelled" : "failed";
}

/** Returns a scorer's result as a score. */
export function toScore({ scorerId, score, reason, label, error, metadata }: ScorerResult): Score {
  return {
    name: scorerId,
    value: score,
    ...(label === undefined ? {} : { label }),
    ...(reason === null ? {} : { reason }),
    ...(error === null ? {} : { error }),
    ...(metadata === null ? {} : { metadata }),
  };
}

function failureOf({ error, errorDetails, isInterrupted }: ItemWithScores): Failure | null {
  if (error === null) return null;
  if (isInterrupted) return createFailure({ type: "item_cancelled", message: error, phase: null, cause: "cancelled" });
  const isTimeout = errorDetails?.name === "AbortReason";
  return createFailure({
    type: isTimeout ? "item_timeout" : "target_failed",
    message: error,
    phase: null,
    cause: "agent",
  });
}

function* warningsOf({ error, scores, persistenceError }: ItemWithScores): Iterable<string> {
  for (const { scorerId, score, error: scorerError, reason } of scores) {
    if (scorerError !== null) yield `scorer "${scorerId}" failed: ${scorerError}`;
    else if (score === null && error === null)
      yield `scorer "${scorerId}" gave no score: ${reason ?? "without a reason"}`;
  }
  if (persistenceError !== null) yield `its result was not stored: ${persistenceError}`;
}

/** Returns the result that a stored unit was made from. `scorerNames` are names by id. */
export function fromUnit(unit: Unit, scorerNames: ReadonlyMap<string, string> = new Map()): ItemWithScores {
  const { details, failure } = unit;
  return {
    index: unit.index,
    itemId: textOf(details["item_id"]) ?? unit.key,
    itemVersion: Number(details["item_version"] ?? 0),
    repeat: Number(details["repeat"] ?? 1),
    input: unit.input ?? null,
    output: unit.output ?? null,
    expectedOutput: unit.expected,
    metadata: (details["metadata"] ?? {}) as JsonObject,
    error: failure?.message ?? null,
    errorDetails: (details["error"] ?? null) as ErrorDetails | null,
    isInterrupted: unit.status === "cancelled",
    startedAt: new Date(unit.startedAt),
    completedAt: new Date(unit.endedAt ?? unit.startedAt),
    // Without the error of the division by 1000.
    durationMs: Math.round(unit.durationSec * 1e6) / 1e3,
    retryCount: unit.tries - 1,
    traceId: textOf(details["trace_id"]),
    usage: unit.usage,
    scores: unit.scores.map(({ name, value, reason = null, error = null, metadata = null, label }) => ({
      scorerId: name,
      scorerName: scorerNames.get(name) ?? name,
      score: value,
      reason,
      ...(label === undefined ? {} : { label }),
      error,
      metadata,
    })),
    persistenceError: null,
  };
}

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}
