import type { JsonObject } from "../../base/json.ts";
import { parseRaw, toRaw, type RawJson } from "../../base/raw-json.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import type { EvalOutcome } from "../executor/executor.ts";
import type { PoolMember } from "../executor/executor-pool.ts";
import { refuseDuplicateNames } from "../executor/find-duplicate-names.ts";
import { defaultLimits, type StartRequest } from "../executor/start-request.ts";
import type { EvalAnswer, EvalInput, TaskInput } from "../protocol.ts";
import type { Executor } from "./executor.ts";
import { ExperimentRunner } from "./experiment-runner.ts";
import { findNotJson } from "./find-not-json.ts";
import { metadataJson } from "./metadata-json.ts";

/** Sets an executor of this process up for a run of an experiment; rejects when it refuses. */
export async function adoptExecutor(executor: Executor, request: StartRequest): Promise<PoolMember> {
  const { maxWorkers, params, clock, signal } = request;
  const warn = (text: string): void => request.onNote({ kind: "malformed", text });
  const rawMetadata = (metadata: JsonObject | null | undefined, whose: string): RawJson | null =>
    metadata ? toRaw(metadataJson(metadata, whose, warn)) : null;
  // Ours has looked already.
  const findLost = (output: unknown): string | null =>
    executor instanceof ExperimentRunner ? null : findNotJson(output ?? null, "output");
  const discovered = await raceWithSignal(executor.discover(), signal, () => {});
  refuseDuplicateNames(discovered);
  const setUp = executor.init({ max_workers: maxWorkers, params: { ...discovered.params, ...params } });
  const { ok, error } = await raceWithSignal(setUp, signal, () => {});
  if (!ok)
    throw new RolloutError("provider_unavailable", `the executor refused to be set up: ${error ?? "without a reason"}`);
  return {
    discovered,
    // It lives as long as we do, and nothing can take back what it does not let go: the run goes on beside that.
    gone: new Promise(() => {}),
    owing: null,
    stuck: new Promise(() => {}),
    async runTask({ runId, input, limitMs, signal: parent }) {
      using deadline = startDeadline({ clock, limitMs, parent, what: "the task" });
      const work = executor.runTask(parseRaw(input) as TaskInput, deadline);
      const answer = await raceWithSignal(work, deadline.signal, () => {});
      const lost = findLost(answer.output);
      const failed = errorOf(answer.error) ?? (lost === null ? null : `what it returned has no form in JSON: ${lost}`);
      return {
        output: failed === null ? toRaw(answer.output ?? null) : null,
        metadata: rawMetadata(answer.metadata, runId),
        error: failed,
        isCancelled: answer.cancelled === true,
      };
    },
    async runEval({ runId, evaluator, input, limitMs, signal: parent }) {
      using deadline = startDeadline({ clock, limitMs, parent, what: `evaluator "${evaluator}"` });
      const work = executor.runEval(parseRaw(input) as EvalInput, [evaluator], deadline);
      const [answer] = await raceWithSignal(work, deadline.signal, () => {});
      return { ...readAnswer(evaluator, answer), metadata: rawMetadata(answer?.metadata, runId) };
    },
    async runAggregate({ aggregate, resultsPath, params: raw, limitMs, signal: parent }) {
      using deadline = startDeadline({ clock, limitMs, parent, what: `aggregate "${aggregate}"` });
      const input = { results_path: resultsPath, params: parseRaw(raw) as JsonObject };
      const answer = await raceWithSignal(executor.runAggregate(aggregate, input, deadline), deadline.signal, () => {});
      const { evaluator: _evaluator, ...read } = readAnswer(aggregate, { run_id: "", evaluator: aggregate, ...answer });
      return {
        id: 0,
        aggregate,
        ...read,
        metadata: answer.metadata ? metadataJson(answer.metadata, aggregate, warn) : null,
      };
    },
    async shutdown() {
      const limitMs = defaultLimits.shutdownMs;
      using deadline = startDeadline({ clock, limitMs, parent: null, what: "the shutdown" });
      // What still runs then runs for nobody.
      await raceWithSignal(executor.shutdown(), deadline.signal, () => {}).catch((thrown: unknown) =>
        request.onNote({ kind: "malformed", text: messageOf(thrown) }),
      );
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function readAnswer(evaluator: string, answer: EvalAnswer | undefined): Omit<EvalOutcome, "metadata"> {
  const score = answer?.score ?? null;
  const isNumber = score === null || Number.isFinite(score);
  const error =
    answer === undefined
      ? "the executor gave no answer"
      : (errorOf(answer.error) ?? (isNumber ? null : "the score is not a finite number"));
  return {
    evaluator,
    score: error === null ? score : null,
    label: answer?.label ?? null,
    explanation: answer?.explanation ?? null,
    error,
  };
}

function errorOf(error: string | null | undefined): string | null {
  return error === undefined || error === "" ? null : error;
}
