import type { RunHead, Unit, UnitFailure } from "../../store/run.ts";
import type { PlannedRun } from "./example.ts";
import type { FinishedRun } from "./experiment-run.ts";

/** What an experiment is shown under. */
export interface ExperimentNames {
  readonly id: string;
  readonly name: string;
  /** The first is what the experiment is about. */
  readonly evaluators: readonly string[];
  /** Runs in all. */
  readonly total: number;
  readonly repetitions: number;
  readonly concurrency: number;
  readonly location: string;
}

/** The beginning of an experiment in the words that all doors share. */
export function describeHead({ id, name, evaluators, total, concurrency, location }: ExperimentNames): RunHead {
  const [first = "", ...others] = evaluators;
  return {
    id,
    kind: "experiment",
    name: id,
    total,
    groups: [{ labels: { experiment: name }, total }],
    concurrency,
    shape: {
      groupBy: ["experiment"],
      itemLabel: "example",
      markName: first,
      otherMarks: others,
      tellsCost: false,
      passAt: 1,
      isScore: true,
      unitNoun: "run",
    },
    metrics: [],
    location,
  };
}

export function labelsOf(
  { example, repetition }: PlannedRun,
  { name, repetitions }: Pick<ExperimentNames, "name" | "repetitions">,
): Record<string, string> {
  const labels = { experiment: name, example: example.id };
  return repetitions === 1 ? labels : { ...labels, repetition: String(repetition) };
}

/** A run in the words that all doors share. */
export function toUnit(
  { run, outcome, failureType, evaluations, durationMs }: Omit<FinishedRun, "isKept">,
  names: Pick<ExperimentNames, "name" | "repetitions">,
): Unit {
  return {
    key: run.runId,
    labels: labelsOf(run, names),
    marks: evaluations.map(({ evaluator, score }) => ({ name: evaluator, value: score })),
    failure: failureOf(outcome.error, failureType),
    phases: [],
    durationSec: durationMs / 1000,
    cost: null,
    tries: 1,
    warnings: evaluations.flatMap(({ evaluator, error }) =>
      error === null ? [] : [`evaluator "${evaluator}" failed: ${error}`],
    ),
  };
}

function failureOf(error: string | null, type: FinishedRun["failureType"]): UnitFailure | null {
  return error === null ? null : { type: type ?? "task_failed", message: error, blame: "agent" };
}
