import type { Json, JsonObject } from "../../base/json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { toJson } from "../../base/to-json.ts";
import {
  protocolVersion,
  type Capability,
  type DiscoverAnswer,
  type EvalAnswer,
  type EvalInput,
  type TaskAnswer,
  type TaskInput,
} from "../protocol.ts";
import type { Evaluation, Experiment } from "./experiment-definition.ts";

/** What a TypeScript executor understands beyond the basic protocol. */
const ownCapabilities: readonly Capability[] = ["ids", "cancel", "log"];

/** Runs the parts of an experiment in this process; what they throw is an answer with an error. */
export class ExperimentRunner {
  readonly #experiment: Experiment;
  readonly #runOf = new Map<string, string>();
  #params: JsonObject;

  constructor(experiment: Experiment) {
    this.#experiment = experiment;
    this.#params = experiment.params ?? {};
  }

  discover(): DiscoverAnswer {
    const { name, description, task, evaluators = {}, params = {} } = this.#experiment;
    return {
      protocol_version: protocolVersion,
      name: name ?? null,
      description: description ?? null,
      task: task.name || "task",
      evaluators: Object.keys(evaluators),
      params,
      capabilities: ownCapabilities,
    };
  }

  init(params: JsonObject): void {
    this.#params = { ...this.#params, ...params };
  }

  async runTask(input: TaskInput, signal: AbortSignal): Promise<TaskAnswer> {
    const runId = input.run_id ?? input.id;
    this.#runOf.set(input.id, runId);
    const time = startTime();
    try {
      const task = this.#experiment.task as (input: unknown, call: object) => unknown;
      const output = await task(input.input, {
        id: input.id,
        runId,
        repetition: input.repetition_number ?? 1,
        expected: input.output,
        metadata: input.metadata ?? {},
        params: { ...this.#params, ...input.params },
        signal,
      });
      return { run_id: runId, output: toJson(output ?? null).json, metadata: time(), error: null };
    } catch (error) {
      return { run_id: runId, output: null, metadata: time(), error: wordsOf(error), ...cancelled(signal) };
    }
  }

  /** One answer for each evaluator that is asked for, or for all. */
  async runEval(input: EvalInput, names: readonly string[] | undefined, signal: AbortSignal): Promise<EvalAnswer[]> {
    const known = this.#experiment.evaluators ?? {};
    return await Promise.all((names ?? Object.keys(known)).map((name) => this.#runOne(input, name, signal)));
  }

  async #runOne(input: EvalInput, evaluator: string, signal: AbortSignal): Promise<EvalAnswer> {
    const { example } = input;
    // Older orchestrators leave out whose output it is.
    const runId = input.run_id ?? example.run_id ?? this.#runOf.get(example.id) ?? example.id;
    const head = { run_id: runId, evaluator };
    const time = startTime();
    try {
      const evaluate = this.#experiment.evaluators?.[evaluator];
      if (evaluate === undefined) throw new Error(`no evaluator has the name "${evaluator}"`);
      const evaluation = await evaluate({
        input: example.input,
        output: input.actual_output,
        expected: input.expected_output ?? example.output,
        metadata: example.metadata ?? {},
        taskMetadata: input.task_metadata ?? {},
        runId,
        params: { ...this.#params, ...input.params },
        signal,
      });
      return { ...head, ...readEvaluation(evaluation, time()), error: null };
    } catch (error) {
      return { ...head, score: null, metadata: time(), error: wordsOf(error), ...cancelled(signal) };
    }
  }
}

function readEvaluation(evaluation: Evaluation, time: JsonObject): Pick<EvalAnswer, "score" | "label" | "metadata"> {
  const { score, metadata, ...rest } =
    typeof evaluation === "object" && evaluation !== null ? evaluation : { score: evaluation, metadata: undefined };
  if (score !== null && !(typeof score === "number" && Number.isFinite(score)))
    throw new Error(`it gave ${String(score)} instead of a finite number or null`);
  return { score, ...rest, metadata: { ...(toJson(metadata ?? {}).json as JsonObject), ...time } };
}

function startTime(): () => Record<string, Json> {
  const startedAt = new Date();
  const from = performance.now();
  return () => ({
    started_at: startedAt.toISOString(),
    completed_at: new Date().toISOString(),
    execution_time_ms: performance.now() - from,
  });
}

function wordsOf(error: unknown): string {
  return messageOf(error) || "it failed without a message";
}

function cancelled({ aborted }: AbortSignal): { readonly cancelled?: true } {
  return aborted ? { cancelled: true } : {};
}
