import { systemClock } from "../../base/clock.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { toJson } from "../../base/to-json.ts";
import * as protocol from "../protocol.ts";
import { checkDefinition } from "./check-definition.ts";
import type { Executor, ExecutorCallOptions, InitRequest } from "./executor.ts";
import type { AggregateCall, EvaluatorCall, Experiment, TaskCall } from "./experiment-definition.ts";
import { findNotJson } from "./find-not-json.ts";
import { findWrongParam } from "./find-wrong-param.ts";
import { metadataJson } from "./metadata-json.ts";
import { readEvaluation, type ReadEvaluation } from "./read-evaluation.ts";
import { readRunRecords } from "./run-records.ts";
import { splitMetadata } from "./task-output.ts";

/** Runs the parts of an experiment in this process; what they throw is an answer with an error. */
export class ExperimentRunner implements Executor {
  /** Off where every evaluation tells its run. */
  remembersRuns = true;
  readonly #experiment: Experiment;
  readonly #warn: (text: string) => void;
  /** By example; null where there were several. */
  readonly #runOf = new Map<string, string | null>();
  readonly #open = new Set<Promise<unknown>>();
  #params: JsonObject;

  constructor(experiment: Experiment, warn: (text: string) => void) {
    checkDefinition(experiment);
    this.#warn = warn;
    this.#experiment = experiment;
    this.#params = experiment.params ?? {};
  }

  async discover(): Promise<protocol.DiscoverAnswer> {
    const { name, description, task, evaluators = {}, aggregates = {}, params = {} } = this.#experiment;
    return {
      protocol_version: protocol.protocolVersion,
      name: name ?? null,
      description: description ?? null,
      task: task.name || "task",
      evaluators: Object.keys(evaluators),
      params,
      aggregates: Object.keys(aggregates),
    };
  }

  async init({ max_workers: maxWorkers, params }: InitRequest): Promise<protocol.InitAnswer> {
    if (!Number.isSafeInteger(maxWorkers) || maxWorkers < 1)
      return { ok: false, error: `max_workers is a whole number from 1, not ${JSON.stringify(maxWorkers)}` };
    const wrong = findWrongParam(this.#experiment.params, params);
    if (wrong !== null) return { ok: false, error: wrong };
    this.#params = { ...this.#experiment.params, ...params };
    return { ok: true };
  }

  async runTask(input: protocol.TaskInput, options: ExecutorCallOptions = {}): Promise<protocol.TaskAnswer> {
    const runId = input.run_id ?? input.id;
    this.#remember(input);
    const call: TaskCall<JsonObject> = {
      id: input.id,
      runId,
      repetition: input.repetition_number ?? 1,
      expected: input.output,
      metadata: input.metadata ?? {},
      ...this.#shared(input.params, options),
    };
    const task = this.#experiment.task as (input: unknown, call: object) => unknown;
    return await this.#track(async () => {
      const time = startTime();
      try {
        const { output, metadata } = splitMetadata(await task(input.input, call));
        const lost = findNotJson(output ?? null, "output");
        if (lost !== null) throw new Error(`what it returned has no form in JSON: ${lost}`);
        return {
          run_id: runId,
          output: toJson(output ?? null).json,
          metadata: { ...metadataJson(metadata, runId, this.#warn), ...time() },
          error: null,
        };
      } catch (error) {
        const words = { output: null, metadata: time(), error: wordsOf(error) };
        return { run_id: runId, ...words, ...cancelled(call.signal) };
      }
    });
  }

  async runEval(
    input: protocol.EvalInput,
    names: readonly string[] = Object.keys(this.#experiment.evaluators ?? {}),
    options: ExecutorCallOptions = {},
  ): Promise<protocol.EvalAnswer[]> {
    const { example } = input;
    // Older orchestrators leave out whose output it is.
    const runId = input.run_id ?? example.run_id ?? this.#runOf.get(example.id) ?? example.id;
    const call: EvaluatorCall<JsonObject> = {
      input: example.input,
      output: input.actual_output,
      expected: input.expected_output === undefined ? example.output : input.expected_output,
      metadata: example.metadata ?? {},
      taskMetadata: input.task_metadata ?? {},
      runId,
      ...this.#shared(input.params, options),
    };
    return await Promise.all(
      names.map(async (evaluator) => ({
        run_id: runId,
        evaluator,
        ...(await this.#mark("evaluator", this.#experiment.evaluators, evaluator, call, runId)),
      })),
    );
  }

  async runAggregate(
    aggregate: string,
    input: protocol.RunAggregateCommand["input"],
    options: ExecutorCallOptions = {},
  ): Promise<Omit<protocol.AggregateAnswer, "id">> {
    const call: AggregateCall<JsonObject> = {
      results: readRunRecords(input.results_path),
      ...this.#shared(input.params, options),
    };
    return { aggregate, ...(await this.#mark("aggregate", this.#experiment.aggregates, aggregate, call, aggregate)) };
  }

  async shutdown(): Promise<protocol.ShutdownAnswer> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
    return { ok: true };
  }

  #mark<Call extends { readonly signal: AbortSignal }>(
    kind: string,
    known: Readonly<Record<string, (call: Call) => Parameters<typeof readEvaluation>[0] | Promise<Evaluated>>> = {},
    name: string,
    call: Call,
    whose: string,
  ): Promise<Mark & { readonly error: string | null; readonly cancelled?: true }> {
    return this.#track(async () => {
      const time = startTime();
      try {
        const evaluate = Object.hasOwn(known, name) ? known[name] : undefined;
        if (evaluate === undefined) throw new Error(describeUnknown(kind, name, Object.keys(known)));
        const { metadata, ...read } = readEvaluation(await evaluate(call));
        return { ...read, metadata: { ...metadataJson(metadata, whose, this.#warn), ...time() }, error: null };
      } catch (error) {
        return { score: null, label: null, metadata: time(), error: wordsOf(error), ...cancelled(call.signal) };
      }
    });
  }

  #shared(
    params: JsonObject | undefined,
    { signal }: ExecutorCallOptions,
  ): { params: JsonObject; signal: AbortSignal } {
    return { params: { ...this.#params, ...params }, signal: signal ?? new AbortController().signal };
  }

  #remember({ id, run_id: runId }: protocol.TaskInput): void {
    if (!this.remembersRuns || runId === undefined) return;
    const known = this.#runOf.get(id);
    this.#runOf.set(id, known === undefined || known === runId ? runId : null);
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    const running = work();
    this.#open.add(running);
    try {
      return await running;
    } finally {
      this.#open.delete(running);
    }
  }
}

type Mark = Omit<ReadEvaluation, "metadata"> & { readonly metadata: JsonObject };

type Evaluated = Parameters<typeof readEvaluation>[0];

function startTime(): () => Record<string, Json> {
  const startedAt = systemClock.now();
  const from = systemClock.monotonic();
  return () => ({
    started_at: new Date(startedAt).toISOString(),
    completed_at: new Date(systemClock.now()).toISOString(),
    execution_time_ms: systemClock.monotonic() - from,
  });
}

function wordsOf(error: unknown): string {
  return messageOf(error) || "it failed without a message";
}

function cancelled({ aborted }: AbortSignal): { readonly cancelled?: true } {
  return aborted ? { cancelled: true } : {};
}
