import type { EvalOutcome } from "../executor/executor.ts";
import type { RunPlan, RunRecord } from "../../store/run-store.ts";
import type { ExampleSource } from "../examples/example-source.ts";
import type { AnsweredRun, EarlierRun, ExperimentOutput } from "./experiment-output.ts";

/** A run as it is kept. */
export interface KeptRun extends AnsweredRun {
  /** The last word of each evaluator, in the order in which they came. */
  readonly evaluations: ReadonlyMap<string, EvalOutcome>;
}

/** Where experiments are kept: a store, or a directory with a directory for each. Unknown ids reject with `not_found`. */
export interface ExperimentShelf {
  find(id: string): Promise<RunRecord | null>;
  /** All of them, newest first. */
  list(): AsyncIterable<RunRecord>;
  /** Rejects with `already_exists` when the id is taken. */
  begin(plan: RunPlan, examples: ExampleSource): Promise<ExperimentOutput>;
  /** Goes on with an experiment; rejects with `in_use` when somebody is at it. */
  resume(id: string): Promise<ExperimentOutput>;
  /** The same for evaluations alone, which take the place of those that the same evaluator gave before. */
  rescore(id: string): Promise<ExperimentOutput>;
  /** How many tasks have their output, and how many failed. */
  count(id: string): Promise<{ readonly succeeded: number; readonly failed: number }>;
  /** The runs whose tasks were answered, in the order of the examples. */
  runs(id: string): AsyncIterable<KeptRun>;
  /** The examples as they were when the experiment began; null where only their dataset has them. */
  examples(id: string): Promise<ExampleSource | null>;
}

/** What of a kept run need not be done again: nothing when its task failed, and no evaluation that did. */
export function toEarlierRun({ outcome, failureType, durationMs, evaluations }: KeptRun): EarlierRun | null {
  if (outcome.error !== null) return null;
  const given = [...evaluations].filter(([, { error }]) => error === null);
  return { outcome, failureType, durationMs, evaluations: new Map(given) };
}
