import { createExecutor, openExecutor, runExperiment, type Executor, type RunRecord } from "rollout-eval/experiments";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cannotRun, makeRoom } from "./rollout-cli.ts";
import { pythonVersion } from "../sdk/find-python.ts";

const source = `
import { defineExperiment, withMetadata } from "rollout-eval/experiments";
export default defineExperiment({
  name: "double",
  params: { factor: 2 },
  task: async (input, { params, signal }) => {
    if (input === 4) console.log("working on", input);
    if (input === "bad") throw new Error("no number");
    if (input === "odd") return new Map([["when", new Date(0)]]);
    if (input === "nan") return { a: [1, Number.NaN] };
    if (input === "wait") return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
    return withMetadata(params.factor * input, { tokens: 7 });
  },
  evaluators: {
    right: ({ output, expected }) => output === expected,
    cheap: ({ taskMetadata }) => ({ score: taskMetadata.tokens ?? null, label: "tokens", explanation: "so many", metadata: { a: 1 } }),
    broken: () => Number.NaN,
  },
  aggregates: {
    mean: async ({ results, params }) => {
      const scores = await results.scores("right");
      return { score: scores.reduce((sum, score) => sum + score, 0) / scores.length, metadata: { params } };
    },
    failing: () => { throw new Error("not this time"); },
  },
});
`;

const python = `
from rollout_eval import aggregate, evaluator, experiment, task, TaskOutput
experiment(name="double", params={"factor": 2})
@task
def double(input, params):
    if input == "bad": raise ValueError("no number")
    return TaskOutput(params["factor"] * input, {"tokens": 7})
@evaluator
def right(output, expected): return output == expected
@evaluator
def cheap(task_metadata): return {"score": task_metadata.get("tokens"), "label": "tokens", "explanation": "so many", "metadata": {"a": 1}}
@evaluator
def broken(): return float("nan")
`;

const examples = [
  { id: "one", input: 1, output: 2 },
  { id: "two", input: 2, output: 5, metadata: { hard: true } },
  { id: "bad", input: "bad" },
];

async function writeIn(name: string, text: string): Promise<string> {
  // Below the checkout's own module tree the package is found by its name.
  const dir = await mkdtemp(join(tmpdir(), "rollout-sdk-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await writeFile(join(dir, name), text);
  return join(dir, name);
}

const times = new Set([
  "started_at",
  "completed_at",
  "execution_time_ms",
  "asOf",
  "as_of",
  "createdAt",
  "startedAt",
  "endedAt",
  "durationSec",
]);

/** Without what differs from run to run. */
function timeless<T>(value: T): T {
  return JSON.parse(JSON.stringify(value, (key, inner: unknown) => (times.has(key) ? undefined : inner))) as T;
}

async function load(file: string): Promise<Parameters<typeof createExecutor>[0]> {
  const { default: experiment } = (await import(file)) as { default: Parameters<typeof createExecutor>[0] };
  return experiment;
}

test("an experiment gives the same in this process and in one of its own", async () => {
  const file = await writeIn("double.mjs", source.replace('"rollout-eval/experiments"', `"${packageEntry}"`));
  const request = { examples, repetitions: 2, maxWorkers: 3 };
  const inside = await runExperiment({ experiment: await load(file), ...request });
  const outside = await runExperiment({ file, ...request });
  const nameless = ({ run, ...summary }: typeof inside): object => ({ ...summary, id: "", run: { ...run, id: "" } });
  expect(timeless(nameless(inside))).toEqual(timeless(nameless(outside)));
  expect(inside).toMatchObject({
    status: "completed",
    totalRuns: 6,
    succeeded: 4,
    failed: 2,
    failedEvaluations: 4,
    averageScores: { right: 0.5, cheap: 7, broken: null },
    aggregates: [
      { aggregate: "mean", score: 0.5 },
      { aggregate: "failing", score: null, error: "not this time" },
    ],
  });
  expect(inside.runs.map(({ runId }) => runId)).toEqual(["one#1", "one#2", "two#1", "two#2", "bad#1", "bad#2"]);
  const [first, , , , bad] = inside.runs;
  expect(first).toMatchObject({ output: 2, error: null, metadata: { tokens: 7 } });
  expect(first?.evaluations.find(({ evaluator }) => evaluator === "broken")).toMatchObject({
    score: null,
    error: "the score is NaN, which is no finite number",
  });
  expect(bad).toMatchObject({ output: null, error: "no number", evaluations: [] });
});

test("an experiment in Python gives the same results", async (context) => {
  if (pythonVersion() === null) cannotRun(context, "there is no python3 >= 3.10 here");
  const file = await writeIn("double.mjs", source.replace('"rollout-eval/experiments"', `"${packageEntry}"`));
  const ours = await runExperiment({ experiment: await load(file), examples });
  const theirs = await runExperiment({ file: await writeIn("double.py", python), examples });
  const plain = (runs: readonly RunRecord[]): unknown =>
    timeless(runs).map(({ error, evaluations, ...run }) => ({
      ...run,
      hasFailed: error !== null,
      evaluations: evaluations.map(({ evaluator, score, label, explanation }) => ({
        evaluator,
        score,
        label,
        explanation,
      })),
    }));
  expect(plain(theirs.runs)).toEqual(plain(ours.runs));
});

test("both executors answer every call alike", async () => {
  const file = await writeIn("double.mjs", source.replace('"rollout-eval/experiments"', `"${packageEntry}"`));
  const results = await writeIn(
    "results.jsonl",
    [1, 0, null]
      .map((score, n) =>
        JSON.stringify({
          run_id: `e${n}#1`,
          example: { id: `e${n}`, input: n },
          evaluations: [{ evaluator: "right", score }],
        }),
      )
      .join("\n"),
  );
  const printed: string[] = [];
  await using process = await openExecutor(file, { onNote: (note) => printed.push(JSON.stringify(note)) });
  const answers = await Promise.all([createExecutor(await load(file)), process].map((one) => callAll(one, results)));
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[0]).toMatchObject({
    discovered: { name: "double", evaluators: ["right", "cheap", "broken"], aggregates: ["mean", "failing"] },
    refused: { ok: false },
    mean: { aggregate: "mean", score: 0.5, metadata: { params: { factor: 3 } } },
    failing: { aggregate: "failing", error: "not this time" },
    stopped: { cancelled: true, error: "stopped" },
    odd: { output: { when: "1970-01-01T00:00:00.000Z" } },
    nan: { error: "what it returned has no form in JSON: NaN at output.a[1] is no number of JSON" },
  });
  expect(printed.join()).toContain("working on 4");
});

test("a definition that is none is told before anything runs, and so are params that it does not take", async () => {
  const room = await makeRoom();
  await room.write("one.jsonl", '{"id":"a","input":1}\n');
  await room.write("odd.mjs", "export default { task: (input) => input, evaluator: {} };");
  await room.write("list.mjs", "export default { task: (input) => input, evaluators: [() => 1] };");
  await room.write("none.mjs", "export const task = (input) => input;");
  await room.write("good.mjs", "export default { params: { factor: 2 }, task: (input) => input };");
  const run = (file: string, ...more: string[]) => room.run(["experiment", file, "--dataset", "one.jsonl", ...more]);
  const ends = [await run("odd.mjs"), await run("list.mjs"), await run("none.mjs")];
  expect(ends.map(({ code }) => code)).toEqual([2, 2, 2]);
  expect(ends[0]?.stderr).toContain('this is no experiment: evaluator: unknown member; did you mean "evaluators"?');
  expect(ends[1]?.stderr).toContain("evaluators is an object of functions by name, not a list");
  expect(ends[2]?.stderr).toContain("none.mjs has no default export with a task");
  const refused = await run("good.mjs", "--param", "factro=3");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('param "factro": unknown param; did you mean "factor"?');
  expect((await run("good.mjs", "--param", "factor=3")).code).toBe(0);
});

test("a request that cannot be run is refused before anything starts", async () => {
  const run = (request: object) => runExperiment(request as Parameters<typeof runExperiment>[0]);
  const experiment = { task: () => 1 };
  await expect(run({ experiment, examples, repetition: 2 })).rejects.toThrow('did you mean "repetitions"?');
  await expect(run({ experiment, file: "a.ts", examples })).rejects.toThrow("not experiment and file");
  await expect(run({ file: "no-such.ts", examples })).rejects.toThrow("no-such.ts does not exist");
});

async function callAll(executor: Executor, results: string): Promise<unknown> {
  const { capabilities: _, ...discovered } = await executor.discover();
  const refused = await executor.init({ max_workers: 0, params: {} });
  const setUp = await executor.init({ max_workers: 2, params: { factor: 3 } });
  const input = (value: string | number) =>
    ({ id: "a", input: value, run_id: "a#1", repetition_number: 1, params: {} }) as const;
  const [task, bad, odd, nan] = [
    await executor.runTask(input(4)),
    await executor.runTask(input("bad")),
    await executor.runTask(input("odd")),
    await executor.runTask(input("nan")),
  ];
  const stop = new AbortController();
  const waiting = executor.runTask(input("wait"), { signal: stop.signal }).catch(() => null);
  setTimeout(() => stop.abort(), 50);
  // The caller that gave up does not get the answer of a process; in this one it may.
  const stopped = (await waiting) ?? { cancelled: true, error: "stopped" };
  const example = { id: "a", run_id: "a#1", input: 4, output: 12 };
  const evals = await executor.runEval({ example, actual_output: 12, params: {}, run_id: "a#1" });
  const unknown = await executor.runEval({ example, actual_output: 12, params: {}, run_id: "a#1" }, ["rihgt"]);
  const aggregate = { results_path: results, params: {} };
  const mean = await executor.runAggregate("mean", aggregate);
  const failing = await executor.runAggregate("failing", aggregate);
  const shut = await executor.shutdown();
  const { error: why, ...rest } = refused;
  return settled({
    discovered,
    refused: { ...rest, isTold: why !== undefined },
    setUp,
    task,
    bad,
    odd,
    nan,
    stopped: { cancelled: (stopped as { cancelled?: boolean }).cancelled, error: stopped.error },
    evals,
    unknown,
    mean,
    failing,
    shut,
  });
}

/** Nothing, null and absent are the same on the wire. */
function settled(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) => (inner === null || times.has(key) ? undefined : inner)),
  );
}

const packageEntry = import.meta.resolve("rollout-eval/experiments");
