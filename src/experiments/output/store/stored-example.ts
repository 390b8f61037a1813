import type { Json } from "../../../base/json.ts";
import { toRaw, type RawJson } from "../../../base/raw-json.ts";
import type { Score, Unit } from "../../../store/run.ts";
import type { EvalOutcome } from "../../executor/executor.ts";
import { runIdOf, type FailureType } from "../../run/example.ts";
import type { StoredExample } from "../experiment-output.ts";

/** Returns the example that a stored unit was made from. */
export function fromUnit({ index, input, expected, output, failure, scores, details, ...unit }: Unit): StoredExample {
  const { example_id: exampleId } = details;
  const id = typeof exampleId === "string" ? exampleId : unit.key;
  const repetition = Number(details["repetition"] ?? 1);
  const example = {
    id,
    input: toRaw(input ?? null),
    output: rawOf(expected),
    metadata: rawOf(details["example_metadata"]),
  };
  return {
    run: { index, runId: runIdOf(id, repetition), example, repetition },
    outcome: {
      output: failure === null ? toRaw(output ?? null) : null,
      metadata: rawOf(details["metadata"]),
      error: failure?.message ?? null,
      isCancelled: false,
    },
    failureType: failure === null ? null : (failure.type as FailureType),
    startedAt: unit.startedAt,
    durationMs: unit.durationSec * 1000,
    evaluations: new Map(scores.map((score) => [score.name, toOutcome(score)])),
  };
}

function toOutcome({ name, value, label, reason, error, metadata }: Score): EvalOutcome {
  return {
    evaluator: name,
    score: value,
    label: label ?? null,
    explanation: reason ?? null,
    metadata: rawOf(metadata),
    error: error ?? null,
  };
}

function rawOf(value: Json | undefined): RawJson | null {
  return value === undefined ? null : toRaw(value);
}
