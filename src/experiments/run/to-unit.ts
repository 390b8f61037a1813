import type { Json, JsonObject } from "../../base/json.ts";
import { parseRaw, type RawJson } from "../../base/raw-json.ts";
import { createFailure } from "../../store/failure.ts";
import type { Failure, FailureCause, Score, Unit } from "../../store/run.ts";
import type { EvalOutcome } from "../executor/executor.ts";
import type { EvaluatedRun } from "../output/experiment-output.ts";
import type { FailureType, PlannedRun } from "./example.ts";
import type { CountedRun } from "./experiment-counter.ts";

/** The names that the runs of an experiment are shown under. */
export interface ExperimentNames {
  /** The name that the experiment file declares. */
  readonly experiment: string;
  readonly repetitions: number;
}

export function labelsOf(
  { example, repetition }: PlannedRun,
  { experiment, repetitions }: ExperimentNames,
): Record<string, string> {
  const labels = { experiment, example: example.id };
  return repetitions === 1 ? labels : { ...labels, repetition: String(repetition) };
}

/** Returns an example with its repetition as a unit of its run. */
export function toUnit(evaluated: EvaluatedRun, names: ExperimentNames): Unit {
  const { run, outcome, failureType, evaluations, startedAt, durationMs } = evaluated;
  const { example } = run;
  return {
    index: run.index,
    key: run.runId,
    labels: labelsOf(run, names),
    status: failureType === null ? "completed" : "failed",
    scores: evaluations.map(toScore),
    failure: failureOf(outcome.error, failureType),
    phases: [],
    usage: null,
    spendUsd: null,
    tries: 1,
    startedAt,
    endedAt: Math.round(startedAt + durationMs),
    durationSec: durationMs / 1000,
    // Parsed only when somebody reads them: most listeners do not.
    get input() {
      return parse(example.input);
    },
    ...(example.output === null ? {} : { expected: parse(example.output) }),
    get output() {
      return outcome.output === null ? undefined : parse(outcome.output);
    },
    artifacts: [],
    warnings: evaluations.flatMap(({ evaluator, error }) =>
      error === null ? [] : [`evaluator "${evaluator}" failed: ${error}`],
    ),
    untrusted: [],
    get details() {
      return detailsOf(evaluated);
    },
  };
}

function detailsOf({ run: { example, repetition }, outcome }: EvaluatedRun): JsonObject {
  return {
    example_id: example.id,
    repetition,
    ...(outcome.metadata === null ? {} : { metadata: parse(outcome.metadata) }),
    ...(example.metadata === null ? {} : { example_metadata: parse(example.metadata) }),
  };
}

function toScore({ evaluator, score, label, explanation, metadata, error }: EvalOutcome): Score {
  return {
    name: evaluator,
    value: score,
    ...(label === null ? {} : { label }),
    ...(explanation === null ? {} : { reason: explanation }),
    ...(error === null ? {} : { error }),
    ...(metadata === null ? {} : { metadata: parse(metadata) as JsonObject }),
  };
}

function failureOf(error: string | null, type: FailureType | null): Failure | null {
  if (error === null) return null;
  const known = type ?? "task_failed";
  return createFailure({ type: known, message: error, phase: null, cause: causeOf(known) });
}

/** Returns what is counted of a run. */
export function toCounted({ run, outcome, failureType, evaluations }: EvaluatedRun): CountedRun {
  const type = failureType ?? "task_failed";
  return {
    exampleId: run.example.id,
    failure: outcome.error === null ? null : { type, cause: causeOf(type) },
    scores: evaluations.map(({ evaluator, score }) => ({ name: evaluator, value: score })),
    failedEvaluations: evaluations.filter(({ error }) => error !== null).length,
  };
}

function causeOf(type: FailureType): FailureCause {
  return type === "executor_lost" ? "executor" : "task";
}

function parse(raw: RawJson): Json {
  return parseRaw(raw) as Json;
}
