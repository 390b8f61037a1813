import { systemClock } from "../../base/clock.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { parseRaw, toRaw, type RawJson } from "../../base/raw-json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import type { ExecutorListener } from "../executor/executor-voice.ts";
import { defaultLimits, type ProcessWish } from "../executor/start-request.ts";
import { SubprocessExecutor } from "../executor/subprocess-executor.ts";
import type { Executor } from "./executor.ts";

export interface OpenExecutorRequest extends ProcessWish {
  readonly signal: AbortSignal;
  /** What it says that is no answer: prints, and answers that nobody asked for. */
  readonly onNote: ExecutorListener;
}

/** An executor in a process of its own. Calls reject when it is lost; disposing it ends it. */
export async function openExecutor(request: OpenExecutorRequest): Promise<Executor & AsyncDisposable> {
  const process = await SubprocessExecutor.open({ ...request, limits: defaultLimits, clock: systemClock });
  const never = new AbortController().signal;
  // How long something may take is up to the caller's signal.
  const limitMs = Number.POSITIVE_INFINITY;
  return {
    discover: async () => process.discovered,
    init: ({ max_workers: maxWorkers, params }) =>
      process.setUp({ maxWorkers, params }).then(
        () => ({ ok: true }),
        (error: unknown) => ({ ok: false, error: messageOf(error) }),
      ),
    async runTask(input, { signal = never } = {}) {
      const runId = input.run_id;
      const outcome = await process.runTask({ runId, input: toRaw(input), limitMs, signal });
      const { output, metadata, error, isCancelled } = outcome;
      const answer = { run_id: runId, output: valueOf(output), metadata: objectOf(metadata), error };
      return isCancelled ? { ...answer, cancelled: true } : answer;
    },
    runEval: (input, evaluators = process.discovered.evaluators, { signal = never } = {}) =>
      Promise.all(
        evaluators.map(async (evaluator) => {
          const runId = input.run_id ?? input.example.run_id ?? input.example.id;
          const outcome = await process.runEval({ runId, evaluator, input: toRaw(input), limitMs, signal });
          return { run_id: runId, ...outcome, metadata: objectOf(outcome.metadata) };
        }),
      ),
    async runAggregate(aggregate, { results_path: resultsPath, params }, { signal = never } = {}) {
      const { id: _id, ...answer } = await process.runAggregate({
        aggregate,
        resultsPath,
        params: toRaw(params),
        limitMs,
        signal,
      });
      return answer;
    },
    async shutdown() {
      await process.shutdown();
      return { ok: true };
    },
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

function valueOf(raw: RawJson | null): Json {
  return raw === null ? null : (parseRaw(raw) as Json);
}

function objectOf(raw: RawJson | null): JsonObject | null {
  return valueOf(raw) as JsonObject | null;
}
