import type { Json } from "../../base/json.ts";
import type { EvalOutcome, TaskOutcome } from "../executor/executor.ts";
import type { PlannedRun } from "../run/example.ts";

/** A run whose task was answered. */
export interface AnsweredRun {
  readonly run: PlannedRun;
  readonly outcome: TaskOutcome;
  readonly startedAt: number;
  readonly completedAt: number;
}

/** What an earlier sitting left of a run. */
export interface EarlierRun {
  readonly outcome: TaskOutcome;
  /** Evaluators that had their say, with what they said. */
  readonly evaluations: ReadonlyMap<string, EvalOutcome>;
}

/** Where an experiment's results go, each the moment it arrives. */
export interface ExperimentOutput extends AsyncDisposable {
  /** For people. */
  readonly location: string;
  /** What an earlier sitting left of a run; null for a new experiment. */
  readonly findEarlier: ((runId: string) => Promise<EarlierRun | null>) | null;
  saveRun(answered: AnsweredRun): Promise<void>;
  saveEvaluation(run: PlannedRun, outcome: EvalOutcome): Promise<void>;
  complete(summary: Json): Promise<void>;
  fail(error: string): Promise<void>;
}
