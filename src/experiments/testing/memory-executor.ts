import { toRaw, type RawJson } from "../../base/raw-json.ts";
import type { PoolMember } from "../executor/executor-pool.ts";
import type { EvalOutcome, EvalRequest, TaskOutcome, TaskRequest } from "../executor/executor.ts";
import type { DiscoverAnswer } from "../protocol.ts";

export interface MemoryExecutorOptions {
  readonly discovered?: Partial<DiscoverAnswer> | undefined;
  /** Default: the output is the id of the run. */
  readonly onTask?: ((request: TaskRequest) => Promise<Partial<TaskOutcome>>) | undefined;
  /** Default: a score of 1. */
  readonly onEval?: ((request: EvalRequest) => Promise<Partial<EvalOutcome>>) | undefined;
}

/** Makes an executor in this process that answers what the options say. */
export function openMemoryExecutor({
  discovered = {},
  onTask = async () => ({}),
  onEval = async () => ({}),
}: MemoryExecutorOptions = {}): PoolMember {
  const gone = Promise.withResolvers<string>();
  return {
    discovered: { protocol_version: "1.0", evaluators: ["right", "small"], params: {}, ...discovered },
    gone: gone.promise,
    stuck: new Promise(() => {}),
    owing: null,
    async runTask(request) {
      const changes = await onTask(request);
      return { output: toRaw(request.runId), metadata: null, error: null, isCancelled: false, ...changes };
    },
    async runEval(request) {
      const changes = await onEval(request);
      const { evaluator } = request;
      return { evaluator, score: 1, label: null, explanation: null, metadata: null, error: null, ...changes };
    },
    runAggregate: async ({ aggregate }) => ({ id: 0, aggregate, score: 1 }),
    shutdown: async () => gone.resolve("asked to"),
    [Symbol.asyncDispose]: async () => gone.resolve("disposed"),
  };
}

/** The outcome of a task that failed. */
export function failedTask(error: string): Partial<TaskOutcome> {
  return { output: null as RawJson | null, error };
}
