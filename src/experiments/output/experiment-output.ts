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

/** What an earlier session left of a run. */
export interface EarlierRun extends Omit<AnsweredRun, "run" | "startedAt"> {
  /** Evaluators that had their say, with what they said. */
  readonly evaluations: ReadonlyMap<string, EvalOutcome>;
}

/** Where an experiment's results go, each the moment it arrives. */
export interface ExperimentOutput extends AsyncDisposable {
  /** For people. */
  readonly location: string;
  /** What of a run need not be done again; null for a new experiment. */
  readonly findEarlier: ((run: PlannedRun) => Promise<EarlierRun | null>) | null;
  saveRun(answered: AnsweredRun): Promise<void>;
  saveEvaluation(run: PlannedRun, outcome: EvalOutcome): Promise<void>;
  /** The experiment's last word. */
  end(summary: ExperimentSummary): Promise<void>;
}
