import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { toRaw } from "../../base/raw-json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { toJson } from "../../base/to-json.ts";
import type { RunOrigin } from "../../store/run.ts";
import type { EventListener } from "../../store/run-events.ts";
import { chooseCommand } from "../executor/choose-command.ts";
import type { ExecutorNote } from "../executor/executor-voice.ts";
import { ProblemCounter } from "../executor/protocol-problems.ts";
import type { PoolMember } from "../executor/executor-pool.ts";
import { defaultLimits, type StartRequest } from "../executor/start-request.ts";
import { SubprocessExecutor } from "../executor/subprocess-executor.ts";
import { planExperiment } from "../output/plan-experiment.ts";
import { readOwner } from "../../base/process-owner.ts";
import { performExperiment } from "../perform-experiment.ts";
import type { ExampleSource } from "../examples/example-source.ts";
import { openExampleFile } from "../examples/open-example-file.ts";
import type { Example } from "../run/example.ts";
import type { ExperimentOutcome } from "../run/experiment-tally.ts";
import { checkRunRequest } from "./check-run-request.ts";
import { adoptExecutor } from "./adopt-executor.ts";
import { openCollectedOutput, type CollectedOutput } from "./collected-output.ts";
import type { Executor } from "./executor.ts";
import type { Experiment } from "./experiment-definition.ts";
import { ExperimentRunner } from "./experiment-runner.ts";
import type { RunRecord } from "./run-records.ts";

/** An example that is given in code. */
export interface ExampleInput {
  /** Its place, from 1, when it has none. */
  readonly id?: string | undefined;
  readonly input: unknown;
  /** What is expected. */
  readonly output?: unknown;
  readonly metadata?: JsonObject | undefined;
}

/** What runs the tasks: exactly one of these. */
export type ExecutorChoice<Params extends JsonObject> =
  /** In this process. */
  | { readonly experiment: Experiment<Params> }
  /** In this process or wherever it likes. */
  | { readonly executor: Executor }
  /** A .py, .ts or .js file, in a process of its own. */
  | { readonly file: string }
  /** Any program that speaks the protocol. */
  | { readonly command: readonly string[] };

export type RunExperimentRequest<Params extends JsonObject = JsonObject> = ExecutorChoice<Params> & {
  /** A list, or the path of a file: JSON lines, a JSON array or CSV. */
  readonly examples: readonly ExampleInput[] | string;
  /** Over the defaults of the experiment. */
  readonly params?: Partial<Params> | undefined;
  readonly repetitions?: number | undefined;
  /** Tasks and evaluations at once; 4 when it is left out. */
  readonly maxWorkers?: number | undefined;
  /** 600,000 when it is left out. */
  readonly taskLimitMs?: number | undefined;
  /** 600,000 when it is left out. */
  readonly evalLimitMs?: number | undefined;
  /** Evaluates only once every task has been answered. */
  readonly phased?: boolean | undefined;
  /** Also evaluates tasks that failed. */
  readonly evaluateFailed?: boolean | undefined;
  readonly signal: AbortSignal;
  readonly onEvent?: EventListener | undefined;
  /** What the executor prints, and what it says that is no answer. */
  readonly onNote?: ((note: ExecutorNote) => void) | undefined;
};

/** What became of an experiment, with every run in the order of the examples. */
export interface ExperimentResult extends ExperimentOutcome {
  readonly runs: readonly RunRecord[];
}

/** Where things are that are not the caller's to say. */
export interface ExperimentPlace {
  readonly host: Host;
  readonly packageDir: string;
  readonly clock: Clock;
  readonly origin: RunOrigin;
}

const limitMs = 600_000;

/** Runs an experiment over examples and returns all that came out. Rejects only before the first task. */
export async function runExperiment<Params extends JsonObject>(
  request: RunExperimentRequest<Params>,
  place: ExperimentPlace,
): Promise<ExperimentResult> {
  checkRunRequest(request, place.host.cwd);
  const { maxWorkers = 4, repetitions = 1, taskLimitMs = limitMs, evalLimitMs = limitMs } = request;
  for (const [name, value] of Object.entries({ maxWorkers, repetitions }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new RolloutError("usage_invalid", `${name} must be a whole number from 1, not ${value}`);
  const { signal } = request;
  const problems = new ProblemCounter();
  const onNote = (note: ExecutorNote): void => {
    problems.add(note);
    request.onNote?.(note);
  };
  const examples = await openGiven(request.examples, place.host.cwd, signal);
  const params = toJson(request.params ?? {}).json as JsonObject;
  const start = chooseStart(request, place);
  let output: CollectedOutput | null = null;
  const summary = await performExperiment({
    startExecutor: (workers) => start({ maxWorkers: workers, params, clock: place.clock, signal, onNote }),
    params,
    repetitions,
    processes: 1,
    rules: {
      maxWorkers,
      taskLimitMs,
      evalLimitMs,
      evaluatesFailed: request.evaluateFailed === true,
    },
    isPhased: request.phased === true,
    passAt: 1,
    examples: () => examples.read(),
    openOutput: async (discovered, known) => {
      const name = discovered.name ?? "experiment";
      const run = planExperiment(
        {
          id: randomUUID(),
          name,
          experiment: name,
          file: null,
          examples,
          params: known,
          repetitions,
          evaluators: discovered.evaluators,
          passAt: 1,
          maxWorkers,
          location: "",
        },
        { origin: place.origin, owner: readOwner(place.host), now: place.clock.now() },
      );
      output = openCollectedOutput(run, discovered.evaluators);
      return output;
    },
    problems,
    clock: place.clock,
    signal,
    onEvent: request.onEvent ?? null,
  });
  return { ...summary, runs: output === null ? [] : (output as CollectedOutput).runs };
}

function chooseStart<Params extends JsonObject>(
  choice: ExecutorChoice<Params>,
  { host, packageDir }: ExperimentPlace,
): (request: StartRequest) => Promise<PoolMember> {
  if ("experiment" in choice)
    return (request) => {
      const warn = (text: string): void => request.onNote({ kind: "malformed", text });
      return adoptExecutor(new ExperimentRunner(choice.experiment as unknown as Experiment, warn), request);
    };
  if ("executor" in choice) return (request) => adoptExecutor(choice.executor, request);
  const { env, cwd, execPath } = host;
  const command =
    "file" in choice ? chooseCommand({ file: choice.file, executor: undefined, execPath, packageDir }) : choice.command;
  return (request) => SubprocessExecutor.start({ command, env, cwd, limits: defaultLimits, ...request });
}

/** All of them are looked at before anything starts. */
async function openGiven(
  given: readonly ExampleInput[] | string,
  cwd: string,
  signal: AbortSignal,
): Promise<Pick<ExampleSource, "name" | "count" | "hash" | "dataset" | "read">> {
  if (typeof given === "string") return await openExampleFile({ path: resolve(cwd, given), name: given, signal });
  if (given.length === 0) throw new RolloutError("usage_invalid", "there are no examples");
  for (const _example of listExamples(given));
  return {
    name: "examples",
    hash: null,
    dataset: null,
    count: given.length,
    read: () => onlyOnce(listExamples(given)),
  };
}

async function* onlyOnce<T>(value: T): AsyncGenerator<T, void> {
  yield value;
}

function* listExamples(examples: readonly ExampleInput[]): Iterable<Example> {
  const ids = new Set<string>();
  for (const [place, { id = String(place + 1), input, output, metadata }] of examples.entries()) {
    if (ids.has(id)) throw new RolloutError("usage_invalid", `the id "${id}" was there before`);
    ids.add(id);
    const raw = (value: unknown): Example["input"] => toRaw(toJson(value).json satisfies Json);
    yield {
      id,
      input: raw(input),
      output: output === undefined ? null : raw(output),
      metadata: metadata === undefined ? null : raw(metadata),
    };
  }
}
