import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Host } from "../../../base/host.ts";
import type { Json } from "../../../base/json.ts";
import { toRaw, type RawJson } from "../../../base/raw-json.ts";
import type { RunSourceAbility, RunSourceSubject, SubjectRun } from "../../../store/conformance/run-source-case.ts";
import type { RunStatus, Unit } from "../../../store/run.ts";
import type { RunSource } from "../../../store/run-source.ts";
import type { ExampleSource } from "../../examples/example-source.ts";
import type { EvaluatedRun, ExperimentOutput } from "../../output/experiment-output.ts";
import type { ExperimentRepository } from "../../output/experiment-repository.ts";
import { runIdOf, type Example, type FailureType } from "../../run/example.ts";
import { toUnit } from "../../run/to-unit.ts";
import { endSample, sampleExperiment } from "../../testing/sample-experiment.ts";
import { toPlainUnit } from "../read-units.ts";

/** Abilities of a source that reads experiments. */
export const experimentAbilities: readonly RunSourceAbility[] = ["values", "rewrites", "run_facts"];

export interface ExperimentSubjectOptions {
  /** Opens the repository as a process of a host. */
  readonly openRepository: (host: Host) => ExperimentRepository;
  readonly source: RunSource;
  readonly host: Host;
  /** The number of examples of each experiment. */
  readonly exampleCount: number;
}

const names = { experiment: "x", repetitions: 1 };

/** Makes a subject of a repository. Each experiment belongs to a process of its own, so that it can be killed. */
export function experimentRunSubject(options: ExperimentSubjectOptions): RunSourceSubject & AsyncDisposable {
  const processes: ChildProcess[] = [];
  const outputs: ExperimentOutput[] = [];
  return {
    source: withKeysOfUnits(options.source),
    expected: (unit) => toPlainUnit(toUnit(toEvaluated(unit), names)),
    dropsFields: true,
    maxUnits: options.exampleCount,
    async openRun({ run: facts = {}, units = [] } = {}): Promise<SubjectRun> {
      const worker = spawn("sleep", ["3600"], { stdio: "ignore" });
      processes.push(worker);
      await once(worker, "spawn");
      const examples = examplesOf(units, options.exampleCount);
      const planned = sampleExperiment(examples);
      const { shape, plan, details } = planned;
      const run = {
        ...planned,
        shape: { ...shape, scoreName: "reward", otherScores: [] },
        plan: { ...plan, total: options.exampleCount },
        details: { ...details, repetitions: 1, evaluators: ["reward"] },
        ...facts,
      };
      const output = await options.openRepository({ ...options.host, pid: worker.pid ?? 0 }).begin(run, examples);
      outputs.push(output);
      const write = async (some: readonly Unit[]): Promise<void> => {
        await Promise.all(
          some
            .map(toEvaluated)
            .flatMap((evaluated) => [
              output.saveTask(evaluated),
              ...evaluated.evaluations.map((outcome) => output.saveEvaluation(evaluated, outcome)),
            ]),
        );
      };
      await write(units);
      return {
        id: run.id,
        write,
        async finish(status: RunStatus = "completed") {
          if (status !== "completed" && status !== "cancelled") throw new Error(`no experiment ends as ${status}`);
          await endSample(output, { status });
          await output[Symbol.asyncDispose]();
        },
        kill: () => end(worker),
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...processes.map(end), ...outputs.map((output) => output[Symbol.asyncDispose]())]);
    },
  };
}

/** Returns a source that also finds runs by the keys of the sample units, which have no repetition. */
function withKeysOfUnits(source: RunSource): RunSource {
  const toKey = (key: string): string => (key.includes("#") ? key : runIdOf(key, 1));
  return {
    list: (filter, page) => source.list(filter, page),
    get: (id) => source.get(id),
    rows: (id, query) => source.rows(id, query),
    units: (id, query) => source.units(id, query),
    unit: (id, key) => source.unit(id, toKey(key)),
    artifacts: (id, key) => source.artifacts(id, toKey(key)),
    artifact: (id, key, name, range) => source.artifact(id, toKey(key), name, range),
    follow: (id, cursor, signal) => source.follow(id, cursor, signal),
  };
}

/** Returns examples for the given units, and for those that cases write later. */
function examplesOf(units: readonly Unit[], count: number): ExampleSource {
  const known = new Map(units.map((unit) => [unit.index, exampleOf(unit)]));
  const examples = Array.from({ length: count }, (_, index): Example => {
    const later = { id: `echo/tasks/task-${index}__1`, input: toRaw({ index }), output: null, metadata: null };
    return known.get(index) ?? later;
  });
  return {
    name: "examples.jsonl",
    dataset: null,
    count,
    hash: null,
    plainFile: null,
    async *read() {
      yield examples;
    },
  };
}

function exampleOf({ key, input, expected }: Unit): Example {
  return { id: key, input: toRaw(input ?? null), output: rawOf(expected), metadata: null };
}

/** Returns the run that an experiment would store instead of a unit. */
function toEvaluated(unit: Unit): EvaluatedRun {
  const { index, key, status, failure, scores, output } = unit;
  const isFailed = status !== "completed";
  const nothing = { label: null, explanation: null, metadata: null, error: null };
  return {
    run: { index, runId: runIdOf(key, 1), example: exampleOf(unit), repetition: 1 },
    outcome: {
      output: isFailed ? null : toRaw(output ?? null),
      metadata: null,
      error: isFailed ? (failure?.message ?? status) : null,
      isCancelled: false,
    },
    failureType: isFailed ? failureTypeOf(failure?.type) : null,
    startedAt: unit.startedAt,
    durationMs: unit.durationSec * 1000,
    evaluations: scores.map(({ name, value }) => ({ evaluator: name, score: value, ...nothing })),
  };
}

function failureTypeOf(type: string | undefined): FailureType {
  return type === "agent_execution_timeout" ? "task_timeout" : type === undefined ? "task_failed" : "executor_lost";
}

function rawOf(value: Json | undefined): RawJson | null {
  return value === undefined ? null : toRaw(value);
}

async function end(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const exit = once(worker, "exit");
  worker.kill("SIGKILL");
  await exit;
}
