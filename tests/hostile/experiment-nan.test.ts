import { spawnSync } from "node:child_process";
import { describe, expect, test, type TestContext } from "vitest";
import { defineExperiment, runExperiment, withMetadata, type Executor } from "rollout-eval/experiments";
import { cannotRun, makeRoom } from "../e2e/rollout-cli.ts";
import { pythonVersion } from "../sdk/find-python.ts";

const python = `
from rollout_eval import TaskOutput, evaluator, task
@task
def odd(input):
    if input == "output": return {"loss": [1, float("nan")]}
    return TaskOutput(output=1, metadata={"loss": float("nan"), "best": [float("-inf")]})
@evaluator
def scored(output): return {"score": 0.5, "metadata": {"loss": float("inf")}}
`;

const typescript = `
import { defineExperiment, withMetadata } from "rollout-eval/experiments";
export default defineExperiment({
  task: (input: string) =>
    input === "output" ? { loss: [1, NaN] } : withMetadata(1, { loss: NaN, best: [-Infinity] }),
  evaluators: { scored: () => ({ score: 0.5, metadata: { loss: Infinity } }) },
});
`;

const cat = `
from cat.experiments import evaluator, task
from cat.experiments.protocol import TaskOutput
@task
async def odd(input):
    if input.input["of"] == "output": return {"loss": [1, float("nan")]}
    return TaskOutput(output=1, metadata={"loss": float("nan"), "best": [float("-inf")]})
@evaluator
def scored(input): return {"score": 0.5, "metadata": {"loss": float("inf")}}
`;

interface Line {
  readonly run_id: string;
  readonly actual_output: unknown;
  readonly error: string | null;
  readonly score: number;
  readonly metadata: object;
}

describe("NaN in an output fails the run, and in metadata it is text", () => {
  test.for([
    ["odd.py", python, "[]"],
    ["odd.ts", typescript, "[]"],
    ["odd.py", cat, '["--executor", "cat-experiments-executor"]'],
  ])("%s", { timeout: 60_000 }, async ([file = "", source = "", more = ""], context) => {
    if (file.endsWith(".py") && pythonVersion() === null) cannotRun(context, "there is no python3 >= 3.10 here");
    if (source === cat) needCat(context);
    const room = await makeRoom();
    await room.write(file, source);
    const input = (of: string): string => JSON.stringify({ id: of, input: source === cat ? { of } : of });
    await room.write("examples.jsonl", `${input("output")}\n${input("metadata")}\n`);
    const words = ["experiment", file, "--dataset", "examples.jsonl", "--name", "x", "--output-dir", "out"];
    const end = await room.run([...words, "--json", ...(JSON.parse(more) as string[])]);
    expect(end.code, end.stderr).toBe(3);
    const lines = async (name: string): Promise<Line[]> =>
      (await room.read(`out/x/${name}`))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Line);
    const runs = await lines("runs.jsonl");
    const failed = runs.find(({ run_id: id }) => id === "output#1");
    expect(failed).toMatchObject({ actual_output: null, error: expect.stringMatching(/output.*(nan|number)/i) });
    const fine = runs.find(({ run_id: id }) => id === "metadata#1");
    expect(fine).toMatchObject({ actual_output: 1, error: null, metadata: { loss: "NaN", best: ["-Infinity"] } });
    expect(await lines("evaluations.jsonl")).toMatchObject([
      { run_id: "metadata#1", score: 0.5, metadata: { loss: "Infinity" }, error: null },
    ]);
    expect(end.stderr).toMatch(/metadata.*stored as text/);
  });

  const examples = [
    { id: "output", input: "output" },
    { id: "metadata", input: "metadata" },
  ];
  const expected = [
    { runId: "output#1", output: null, error: expect.stringContaining("NaN at output.loss[1]") },
    {
      runId: "metadata#1",
      output: 1,
      error: null,
      metadata: { loss: "NaN", best: ["-Infinity"] },
      evaluations: [{ evaluator: "scored", score: 0.5, metadata: { loss: "Infinity" }, error: null }],
    },
  ];

  test("in this process", async () => {
    const notes: unknown[] = [];
    const experiment = defineExperiment({
      task: (input: unknown) =>
        input === "output" ? { loss: [1, Number.NaN] } : withMetadata(1, { loss: Number.NaN, best: [-Infinity] }),
      evaluators: { scored: () => ({ score: 0.5, metadata: { loss: Infinity } }) },
    });
    const { signal } = new AbortController();
    const result = await runExperiment({ experiment, examples, signal, onNote: (note) => notes.push(note) });
    expect(result.runs).toMatchObject(expected);
    expect(result.protocolProblems).toMatchObject({ malformed: 2 });
    expect(JSON.stringify(notes)).toContain("the metadata of metadata#1 holds NaN or Infinity");
  });

  test("of an executor that somebody else wrote in this process", async () => {
    const metadata = { loss: Number.NaN, best: [-Infinity] };
    const executor: Executor = {
      discover: async () => ({ protocol_version: "1.0", evaluators: ["scored"], params: {} }),
      init: async () => ({ ok: true }),
      runTask: async ({ run_id: runId, input }) =>
        input === "output"
          ? { run_id: runId, output: { loss: [1, Number.NaN] } }
          : { run_id: runId, output: 1, metadata },
      runEval: async ({ run_id: runId = "" }) => [
        { run_id: runId, evaluator: "scored", score: 0.5, metadata: { loss: Infinity } },
      ],
      runAggregate: async () => ({ aggregate: "", score: 1 }),
      shutdown: async () => ({ ok: true }),
    };
    const { signal } = new AbortController();
    const result = await runExperiment({ executor, examples, signal });
    expect(result.runs).toMatchObject(expected);
    expect(result.protocolProblems).toMatchObject({ malformed: 2 });
  });
});

describe("cat-experiments: JSON that a task prints is no answer", () => {
  test.for(['{"error": "cache miss"}', '{"ok": true}', '{"run_id": "e1#1", "output": 999}'])(
    "%s",
    async (line, context) => {
      needCat(context);
      const room = await makeRoom();
      await room.write(
        "prints.py",
        `from cat.experiments import evaluator, task
@task
async def prints(input):
    print('${line}', flush=True)
    return {"n": input.input["n"]}
@evaluator
def right(input): return float(input.actual_output == input.expected_output)
`,
      );
      const examples = Array.from({ length: 10 }, (_, n) =>
        JSON.stringify({ id: `e${n}`, input: { n }, output: { n } }),
      );
      await room.write("examples.jsonl", examples.join("\n"));
      const words = [
        "experiment",
        "prints.py",
        "--executor",
        "cat-experiments-executor",
        "--dataset",
        "examples.jsonl",
      ];
      const end = await room.run([...words, "--name", "x", "--json", "--max-workers", "1"]);
      expect(end.code, end.stderr).toBe(0);
      expect(JSON.parse(end.stdout)).toMatchObject({
        successful_runs: 10,
        average_scores: { right: 1 },
        protocol_problems: { unconfirmed: 10, unknown: 0, malformed: 0 },
      });
    },
  );
});

function needCat(context: TestContext): void {
  if (spawnSync("sh", ["-c", "command -v cat-experiments-executor"]).status !== 0)
    cannotRun(context, "cat-experiments is not installed");
}
