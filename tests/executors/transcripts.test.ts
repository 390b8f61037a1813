import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { Ajv } from "ajv";
import { describe, expect, test, type TestContext } from "vitest";
import { cannotRun, makeRoom, root, type Room } from "../e2e/rollout-cli.ts";
import { pythonVersion } from "../sdk/find-python.ts";

const goldens = join(import.meta.dirname, "transcripts");
const tee = join(import.meta.dirname, "tee-executor.mjs");
const bare = join(import.meta.dirname, "bare-executor.mjs");
const patience = { timeout: 300_000 };

const typescript = `
import { defineExperiment } from "rollout-eval/experiments";
export default defineExperiment({
  name: "double",
  params: { factor: 2 },
  task: (input: number, { params }) => {
    if (typeof input !== "number") throw new Error("no number");
    console.log("doubling", input);
    return params.factor * input;
  },
  evaluators: {
    right: ({ output, expected }) => (output === expected ? 1 : 0),
    small: ({ output }) => ({ score: Number(output) < 5 ? 1 : 0, label: "size" }),
  },
  aggregates: { count: async ({ results }) => (await results.scores("right")).length },
});
`;

const python = `
from rollout_eval import aggregate, evaluator, experiment, task
experiment(name="double", params={"factor": 2})
@task
def double(input, params):
    if not isinstance(input, int): raise ValueError("no number")
    print("doubling", input)
    return params["factor"] * input
@evaluator
def right(output, expected): return output == expected
@evaluator
def small(output): return {"score": output < 5, "label": "size"}
@aggregate
def count(results): return len(results.scores("right"))
`;

const examples = [
  { id: "one", input: 1, output: 2 },
  { id: "bad", input: "x" },
  { id: "three", input: 3, output: 7, metadata: { hard: true } },
];

/** Without what differs from run to run. */
function settled(transcript: string): string {
  return transcript
    .replaceAll(/"(started_at|completed_at)":"[^"]*"/g, '"$1":"TIME"')
    .replaceAll(/"execution_time_ms":[\d.e-]+/g, '"execution_time_ms":0')
    .replaceAll(/"text":"Traceback [^\n]*?"}}/g, '"text":"TRACEBACK"}}')
    .replaceAll(/"results_path":"[^"]*"/g, '"results_path":"RESULTS"');
}

async function makeExperimentRoom(): Promise<Room> {
  const room = await makeRoom();
  await room.write("double.ts", typescript);
  await room.write("double.py", python);
  await room.write("examples.jsonl", examples.map((example) => JSON.stringify(example)).join("\n"));
  return room;
}

const startTypescript = `${process.execPath} ${join(root, "dist/experiment-executor.js")}`;
const startPython = `env PYTHONPATH=${join(root, "sdk/python/src")} python3 -m rollout_eval`;

describe("our orchestrator says what each executor understands", () => {
  test.for([
    ["basic", "double.ts", `${process.execPath} ${bare}`],
    ["marked", "double.ts", `env MARKED=1 ${process.execPath} ${bare}`],
    ["typescript", "double.ts", startTypescript],
    ["python", "double.py", startPython],
  ])("%s", patience, async ([name = "", file = "", command = ""], context) => {
    if (name === "python") needPython(context);
    const room = await makeExperimentRoom();
    const executor = `${process.execPath} ${tee} talk.txt ${command}`;
    const words = ["experiment", file, "--dataset", "examples.jsonl", "--executor", executor, "--max-workers", "1"];
    const end = await room.run([...words, "--phased", "--dry-run", "3"], { patienceMs: 200_000 });
    // One task has failed, as it should.
    expect(end.code, end.stderr).toBe(3);
    await expect(settled(await room.read("talk.txt"))).toMatchFileSnapshot(
      join(goldens, `our-orchestrator-${name}.txt`),
    );
  });
});

function needPython(context: TestContext): void {
  if (pythonVersion() === null) cannotRun(context, "there is no python3 >= 3.10 here");
}

interface Step {
  readonly say: object;
  readonly answers: number;
}

function task(id: string, input: unknown): object {
  const run = { run_id: `${id}#1`, repetition_number: 1, params: { factor: 3 } };
  return { cmd: "run_task", input: { id, input, output: 6, metadata: {}, ...run } };
}

/** The basic protocol has no run_id in what is evaluated. */
const evaluated = { example: { id: "one", input: 2, output: 6 }, actual_output: 6, expected_output: 6, params: {} };
const opening: readonly Step[] = [
  { say: { cmd: "discover" }, answers: 1 },
  { say: { cmd: "init", max_workers: 2, params: { factor: 3 } }, answers: 1 },
  { say: task("one", 2), answers: 1 },
  { say: task("bad", "x"), answers: 1 },
];
const ending: Step = { say: { cmd: "shutdown" }, answers: 1 };
const steps: Readonly<Record<string, readonly Step[]>> = {
  basic: [
    ...opening,
    { say: { cmd: "run_eval", input: evaluated, evaluators: ["right"] }, answers: 1 },
    { say: { cmd: "run_eval", input: evaluated }, answers: 2 },
    { say: { cmd: "fly" }, answers: 1 },
    ending,
  ],
  marked: [...opening, { say: { cmd: "run_eval", input: evaluated, evaluator: "small" }, answers: 1 }, ending],
};

describe("our executors answer other orchestrators", () => {
  test.for([
    ["basic", "typescript"],
    ["basic", "python"],
    ["marked", "typescript"],
    ["marked", "python"],
  ])("%s, in %s", patience, async ([orchestrator = "", language], context) => {
    if (language === "python") needPython(context);
    const room = await makeExperimentRoom();
    const command = language === "python" ? `${startPython} double.py` : `${startTypescript} double.ts`;
    const talk = await play(command, room.dir, steps[orchestrator] ?? []);
    await expect(settled(talk)).toMatchFileSnapshot(join(goldens, `${orchestrator}-orchestrator-${language}.txt`));
  });
});

/** Says each thing once all before it has been answered; answers to one thing are put in order. */
async function play(command: string, cwd: string, script: readonly Step[]): Promise<string> {
  const child = spawn("sh", ["-c", `exec ${command}`], { cwd, stdio: ["pipe", "pipe", "ignore"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise((resolve) => child.on("close", resolve));
  let talk = "";
  try {
    for (const { say, answers } of script) {
      child.stdin.write(`${JSON.stringify(say)}\n`);
      const heard: string[] = [];
      while (heard.length < answers) {
        const { value, done } = await lines.next();
        expect(done, talk).not.toBe(true);
        heard.push(`<- ${String(value)}\n`);
      }
      talk += `-> ${JSON.stringify(say)}\n${heard.toSorted().join("")}`;
    }
    expect(await ended).toBe(0);
  } finally {
    child.kill("SIGKILL");
  }
  return talk;
}

describe("every line of the transcripts is as its schema says", () => {
  const ajv = new Ajv({ strict: false });
  const schemas = join(root, "schemas/executor");
  const validators = new Map(
    readdirSync(schemas).map((file) => [
      basename(file, ".schema.json"),
      ajv.compile(JSON.parse(readFileSync(join(schemas, file), "utf8")) as object),
    ]),
  );
  test.each(readdirSync(goldens))("%s", (file) => {
    const lines = readFileSync(join(goldens, file), "utf8").trim().split("\n");
    expect(lines.length).toBeGreaterThan(8);
    for (const line of lines) {
      const message = JSON.parse(line.slice(3)) as Record<string, unknown>;
      if (message["cmd"] === "fly") continue;
      const name = schemaOf(message, line.startsWith("->"));
      const validate = validators.get(name);
      expect(validate?.(message), `${name}: ${line}: ${ajv.errorsText(validate?.errors ?? null)}`).toBe(true);
    }
  });
});

function schemaOf(message: Record<string, unknown>, isCommand: boolean): string {
  if (isCommand) return `${String(message["cmd"]).replaceAll("_", "-")}-command`;
  if ("log" in message) return "log-message";
  if ("protocol_version" in message) return "discover-answer";
  if ("ok" in message) return "init-answer";
  if ("aggregate" in message) return "aggregate-answer";
  if ("evaluator" in message) return "eval-answer";
  return "run_id" in message ? "task-answer" : "error-answer";
}
