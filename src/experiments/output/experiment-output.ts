import type { Run } from "../../store/run.ts";
import type { EvalOutcome, TaskOutcome } from "../executor/executor.ts";
import type { FailureType, PlannedRun } from "../run/example.ts";
import type { ExperimentSummary } from "../run/experiment-tally.ts";

/** A run whose task was answered. */
export interface AnsweredRun {
  readonly run: PlannedRun;
  readonly outcome: TaskOutcome;
  readonly failureType: FailureType | null;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly durationMs: number;
}

/** The same with its evaluations so far. */
export interface EvaluatedRun extends AnsweredRun {
  readonly evaluations: readonly EvalOutcome[];
}

/** The same as it is stored. */
export interface StoredExample extends AnsweredRun {
  /** The last result of each evaluator, in the order in which they came. */
  readonly evaluations: ReadonlyMap<string, EvalOutcome>;
}

/** The parts of a stored example that are not done again. */
export interface EarlierRun extends Omit<AnsweredRun, "run"> {
  /** The results of evaluators that are not asked again, by name. */
  readonly evaluations: ReadonlyMap<string, EvalOutcome>;
  /** Results that count until their evaluator has answered again. Default: none. */
  readonly outdated?: readonly EvalOutcome[] | undefined;
}

/** Stores the results of an experiment, each the moment it arrives. */
export interface ExperimentOutput extends AsyncDisposable {
  /** The experiment as it was when the output was opened. */
  readonly run: Run;
  /** Returns what earlier sessions stored of a run; runs are asked for in order. Null for a new experiment. */
  readonly findStored: ((run: PlannedRun) => Promise<StoredExample | null>) | null;
  /** Replaces what is stored of the run, with its evaluations. */
  saveTask(answered: AnsweredRun): Promise<void>;
  /** `evaluated` has all evaluations so far, `outcome` among them. */
  saveEvaluation(evaluated: EvaluatedRun, outcome: EvalOutcome): Promise<void>;
  /** Called when the session starts, and now and then while it lasts. Never rejects. */
  update(run: Run): Promise<void>;
  end(run: Run, summary: ExperimentSummary): Promise<void>;
}
