import "../base/check-node.ts";
import { resolve } from "node:path";
import { systemClock } from "../base/clock.ts";
import { readHost } from "../base/host.ts";
import type { JsonObject } from "../base/json.ts";
import { followSignal } from "../engine/abort-reason.ts";
import { chooseCommand } from "../experiments/executor/choose-command.ts";
import type { ExecutorNote } from "../experiments/executor/executor-voice.ts";
import type { Executor } from "../experiments/sdk/executor.ts";
import { openExecutor as openExecutorIn } from "../experiments/sdk/open-executor.ts";
import { readOrigin } from "./read-origin.ts";
import * as running from "../experiments/sdk/run-experiment.ts";

export type { Json, JsonObject } from "../base/json.ts";
export { RolloutError } from "../base/rollout-error.ts";
export type { ExecutorNote } from "../experiments/executor/executor-voice.ts";
export type { ExperimentSummary } from "../experiments/run/experiment-tally.ts";
export { createExecutor } from "../experiments/sdk/create-executor.ts";
export type { Executor, ExecutorCallOptions, InitRequest } from "../experiments/sdk/executor.ts";
export { defineExperiment } from "../experiments/sdk/define-experiment.ts";
export type {
  AggregateCall,
  Evaluation,
  EvaluatorCall,
  Experiment,
  TaskCall,
} from "../experiments/sdk/experiment-definition.ts";
export type { ExampleInput, ExperimentResult } from "../experiments/sdk/run-experiment.ts";
export type { RecordedEvaluation, RunRecord, RunRecords } from "../experiments/sdk/run-records.ts";
export { withMetadata } from "../experiments/sdk/task-output.ts";
export type * from "../experiments/protocol.ts";
export type * from "../store/run.ts";

type Loose<T extends { readonly signal: AbortSignal }> = T extends unknown
  ? Omit<T, "signal"> & { readonly signal?: AbortSignal | undefined }
  : never;

export type RunExperimentRequest<Params extends JsonObject = JsonObject> = Loose<running.RunExperimentRequest<Params>>;

const packageDir = resolve(import.meta.dirname, "..");

/** Runs an experiment over examples, in this process or in an executor's, and returns all that came out. Rejects only before the first task. */
export async function runExperiment<Params extends JsonObject = JsonObject>(
  request: RunExperimentRequest<Params>,
): Promise<running.ExperimentResult> {
  const signal = followSignal(request.signal, "the experiment");
  const host = readHost(process);
  const place = { host, packageDir, clock: systemClock, origin: await readOrigin(host) };
  return await running.runExperiment({ ...request, signal }, place);
}

export interface OpenExecutorOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onNote?: ((note: ExecutorNote) => void) | undefined;
}

/** Starts the executor of a file (.py, .ts, .js) or any command that speaks the protocol; the caller disposes it. */
export function openExecutor(
  from: string | readonly string[],
  { signal, onNote = () => {} }: OpenExecutorOptions = {},
): Promise<Executor & AsyncDisposable> {
  const { env, cwd, execPath } = readHost(process);
  const command =
    typeof from === "string" ? chooseCommand({ file: from, executor: undefined, execPath, packageDir }) : from;
  return openExecutorIn({ command, env, cwd, signal: followSignal(signal, "the executor"), onNote });
}
