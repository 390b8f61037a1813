import type { Json, JsonObject } from "../../../base/json.ts";
import { parseRaw, toRaw, type RawJson } from "../../../base/raw-json.ts";
import type { ResultWithScores, StoredResult, StoredScore } from "../../../store/run-store.ts";
import type { EvalOutcome } from "../../executor/executor.ts";
import { runIdOf, type FailureType, type PlannedRun } from "../../run/example.ts";
import type { AnsweredRun } from "../experiment-output.ts";
import type { KeptRun } from "../experiment-shelf.ts";

/** A run in the words that all doors share; `itemVersion` is that of its dataset. */
export function toStoredResult(answered: AnsweredRun, itemVersion: number): StoredResult {
  const { run, outcome, failureType, startedAt, durationMs } = answered;
  const { example } = run;
  return {
    index: run.index,
    itemId: example.id,
    repeat: run.repetition,
    itemVersion,
    status: outcome.error === null ? "succeeded" : "failed",
    input: parse(example.input),
    output: outcome.output === null ? null : parse(outcome.output),
    ...(example.output === null ? {} : { expectedOutput: parse(example.output) }),
    error: outcome.error === null ? null : { message: outcome.error, type: failureType ?? "task_failed" },
    startedAt,
    completedAt: Math.round(startedAt + durationMs),
    retryCount: 0,
    traceId: null,
    extra: {
      durationMs,
      ...(outcome.metadata === null ? {} : { metadata: parse(outcome.metadata) }),
      ...(example.metadata === null ? {} : { exampleMetadata: parse(example.metadata) }),
    },
  };
}

/** What an evaluator said in the words that all doors share. */
export function toStoredScore({ index }: PlannedRun, outcome: EvalOutcome): StoredScore {
  const { evaluator, score, label, explanation, metadata, error } = outcome;
  return {
    index,
    scorerId: evaluator,
    scorerName: evaluator,
    score,
    reason: explanation,
    error,
    extra: {
      ...(label === null ? {} : { label }),
      ...(metadata === null ? {} : { metadata: parse(metadata) }),
    },
  };
}

/** A run as it is kept, out of a store. */
export function fromStored({ result, scores }: ResultWithScores): KeptRun {
  const { index, itemId, repeat, input, output, expectedOutput, error, startedAt, extra } = result;
  const example = {
    id: itemId,
    input: toRaw(input),
    output: expectedOutput === undefined ? null : toRaw(expectedOutput),
    metadata: rawOf(extra, "exampleMetadata"),
  };
  const said = error?.["message"];
  const message = error === null ? null : typeof said === "string" ? said : "it failed without a message";
  return {
    run: { index, runId: runIdOf(itemId, repeat), example, repetition: repeat },
    outcome: {
      output: message === null ? toRaw(output) : null,
      metadata: rawOf(extra, "metadata"),
      error: message,
      isCancelled: false,
    },
    failureType: error === null ? null : (error["type"] as FailureType),
    startedAt,
    durationMs: Number(extra["durationMs"]),
    evaluations: new Map(scores.map((score) => [score.scorerId, toOutcome(score)])),
  };
}

function toOutcome({ scorerId, score, reason, error, extra }: StoredScore): EvalOutcome {
  const { label } = extra;
  return {
    evaluator: scorerId,
    score,
    label: typeof label === "string" ? label : null,
    explanation: reason,
    metadata: rawOf(extra, "metadata"),
    error,
  };
}

function rawOf(extra: JsonObject, name: string): RawJson | null {
  return extra[name] === undefined ? null : toRaw(extra[name]);
}

function parse(raw: RawJson): Json {
  return parseRaw(raw) as Json;
}
