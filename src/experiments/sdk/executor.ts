import type {
  AggregateAnswer,
  DiscoverAnswer,
  EvalAnswer,
  EvalInput,
  InitAnswer,
  InitCommand,
  RunAggregateCommand,
  ShutdownAnswer,
  TaskAnswer,
  TaskInput,
} from "../protocol.ts";

/** How an executor is set up. */
export type InitRequest = Pick<InitCommand, "max_workers" | "params">;

export interface ExecutorCallOptions {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
}

/** What runs tasks and evaluators for an orchestrator, which decides how many are in flight. What goes wrong is in the answers. */
export interface Executor {
  /** What the experiment has. */
  discover(): Promise<DiscoverAnswer>;
  init(request: InitRequest): Promise<InitAnswer>;
  runTask(input: TaskInput, options?: ExecutorCallOptions): Promise<TaskAnswer>;
  /** One answer for each evaluator that is named, or for all. */
  runEval(
    input: EvalInput,
    evaluators?: readonly string[],
    options?: ExecutorCallOptions,
  ): Promise<readonly EvalAnswer[]>;
  /** Runs an evaluator of the whole run. */
  runAggregate(
    aggregate: string,
    input: RunAggregateCommand["input"],
    options?: ExecutorCallOptions,
  ): Promise<Omit<AggregateAnswer, "id">>;
  /** Answers once all that runs has ended. */
  shutdown(): Promise<ShutdownAnswer>;
}
