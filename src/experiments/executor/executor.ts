import type { RawJson } from "../../base/raw-json.ts";
import type { AggregateAnswer, DiscoverAnswer } from "../protocol.ts";

/** What came back for a task. */
export interface TaskOutcome {
  /** As it was written; null when the task failed. */
  readonly output: RawJson | null;
  readonly metadata: RawJson | null;
  readonly error: string | null;
  readonly isCancelled: boolean;
}

/** What came back for an evaluation. */
export interface EvalOutcome {
  readonly evaluator: string;
  /** A finite number; null when there is none. */
  readonly score: number | null;
  readonly label: string | null;
  readonly explanation: string | null;
  readonly metadata: RawJson | null;
  readonly error: string | null;
}

/** What ends a call before its answer. */
export interface CallBounds {
  readonly limitMs: number;
  /** The same for all calls of a run: the executor listens to it once. */
  readonly signal: AbortSignal;
}

/** A task to be run, ready to be sent. */
export interface TaskRequest extends CallBounds {
  readonly runId: string;
  /** The protocol's task input. */
  readonly input: RawJson;
}

/** An evaluation to be run, ready to be sent. */
export interface EvalRequest extends CallBounds {
  readonly runId: string;
  readonly evaluator: string;
  readonly input: RawJson;
}

export interface AggregateRequest extends CallBounds {
  readonly aggregate: string;
  readonly resultsPath: string;
  readonly params: RawJson;
}

/** What runs tasks and evaluators. Calls reject with `ExecutorLost` when it is gone, and with the reason of their limit or signal. */
export interface Executor extends AsyncDisposable {
  readonly discovered: DiscoverAnswer;
  runTask(request: TaskRequest): Promise<TaskOutcome>;
  runEval(request: EvalRequest): Promise<EvalOutcome>;
  runAggregate(request: AggregateRequest): Promise<AggregateAnswer>;
  /** Asks it to finish and end, and ends it when it does not. */
  shutdown(): Promise<void>;
}

/** The executor is gone, and with it what it was doing. */
export class ExecutorLost extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ExecutorLost";
  }
}
