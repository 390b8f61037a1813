import type { Run } from "../../store/run.ts";
import type { ExampleSource } from "../examples/example-source.ts";
import type { EvalOutcome } from "../executor/executor.ts";
import type { EarlierRun, ExperimentOutput, StoredExample } from "./experiment-output.ts";

/** Where experiments are stored: a store, or a directory with one directory for each. Unknown ids reject with `not_found`. */
export interface ExperimentRepository {
  /** Returns null for an unknown id. */
  find(id: string): Promise<Run | null>;
  /** Rejects with `already_exists` when the id is taken. */
  begin(run: Run, examples: ExampleSource): Promise<ExperimentOutput>;
  /** Resumes an experiment. Rejects with `in_use` while another process works on it. */
  resume(id: string): Promise<ExperimentOutput>;
  /**
   * Opens an experiment for evaluations only; they replace those of the same evaluator.
   * The stored run does not change unless the scoring completes.
   */
  rescore(id: string): Promise<ExperimentOutput>;
  /** Counts the tasks that have an output, and those that failed. */
  count(id: string): Promise<{ readonly succeeded: number; readonly failed: number }>;
  /** Yields the examples whose tasks were answered, in order. */
  runs(id: string): AsyncIterable<StoredExample>;
  /** Returns the examples as they were when the experiment began; null if only their dataset has them. */
  examples(id: string): Promise<ExampleSource | null>;
}

/** Returns what a resumed experiment need not do again: nothing if the task failed. Failed evaluations are made again. */
export function toEarlierRun(stored: StoredExample): EarlierRun | null {
  return stored.outcome.error === null ? withoutEvaluations(stored, ({ error }) => error !== null) : null;
}

/** Returns a stored example for evaluators that score it again. Their earlier results count until they have answered. */
export function toRescoredRun(stored: StoredExample, evaluators: readonly string[]): EarlierRun {
  return withoutEvaluations(stored, ({ evaluator }) => evaluators.includes(evaluator));
}

function withoutEvaluations(
  { run: _run, evaluations, ...answered }: StoredExample,
  isOutdated: (outcome: EvalOutcome) => boolean,
): EarlierRun {
  return {
    ...answered,
    evaluations: new Map([...evaluations].filter(([, outcome]) => !isOutdated(outcome))),
    outdated: [...evaluations.values()].filter(isOutdated),
  };
}
