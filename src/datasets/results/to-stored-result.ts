import type { Json, JsonObject } from "../../base/json.ts";
import { toJson } from "../../base/to-json.ts";
import type { ResultWithScores } from "../../store/run-store.ts";
import type { Usage } from "../../scoring/scorer.ts";
import type { ErrorDetails, ItemWithScores } from "../summary.ts";

// An output beyond this is named in the result instead of being stored: one value must not take the store down.
const mostStoredCharacters = 64 * 1024 * 1024;

/** A result as a store keeps it. */
export function toStoredResult(item: ItemWithScores): ResultWithScores {
  const output = toJson(item.output);
  const isTooLarge = output.size > mostStoredCharacters;
  return {
    result: {
      index: item.index,
      itemId: item.itemId,
      repeat: item.repeat,
      itemVersion: item.itemVersion,
      status: item.error === null ? "succeeded" : item.isInterrupted ? "interrupted" : "failed",
      input: item.input as Json,
      output: isTooLarge ? null : output.json,
      expectedOutput: item.expectedOutput as Json | undefined,
      error: item.error === null ? null : { ...item.errorDetails, message: item.error },
      startedAt: item.startedAt.getTime(),
      completedAt: item.completedAt.getTime(),
      retryCount: item.retryCount,
      traceId: item.traceId,
      extra: extraOf(item, isTooLarge ? output.size : null),
    },
    scores: item.scores.map(({ scorerId, scorerName, score, reason, error, metadata }) => ({
      index: item.index,
      scorerId,
      scorerName,
      score,
      reason,
      error,
      extra: metadata === null ? {} : { metadata },
    })),
  };
}

function extraOf({ durationMs, usage, metadata }: ItemWithScores, omittedCharacters: number | null): JsonObject {
  const extra: Record<string, Json> = { durationMs };
  if (usage !== null) extra["usage"] = { ...usage };
  if (Object.keys(metadata).length > 0) extra["metadata"] = metadata;
  if (omittedCharacters !== null) extra["outputOmitted"] = `about ${omittedCharacters} characters`;
  return extra;
}

/** A stored result as a run tells it. */
export function fromStoredResult({ result, scores }: ResultWithScores): ItemWithScores {
  const { message, ...details } = result.error ?? {};
  return {
    index: result.index,
    itemId: result.itemId,
    itemVersion: result.itemVersion,
    repeat: result.repeat,
    input: result.input,
    output: result.output,
    expectedOutput: result.expectedOutput,
    metadata: (result.extra["metadata"] ?? {}) as JsonObject,
    error: result.error === null ? null : typeof message === "string" ? message : "it failed without a message",
    errorDetails: result.error === null || !("name" in details) ? null : (details as unknown as ErrorDetails),
    isInterrupted: result.status === "interrupted",
    startedAt: new Date(result.startedAt),
    completedAt: new Date(result.completedAt),
    durationMs: Number(result.extra["durationMs"]),
    retryCount: result.retryCount,
    traceId: result.traceId,
    usage: (result.extra["usage"] ?? null) as unknown as Usage | null,
    scores: scores.map(({ scorerId, scorerName, score, reason, error, extra }) => ({
      scorerId,
      scorerName,
      score,
      reason,
      ...(typeof extra["label"] === "string" ? { label: extra["label"] } : {}),
      error,
      metadata: (extra["metadata"] ?? null) as JsonObject | null,
    })),
    persistenceError: null,
  };
}
