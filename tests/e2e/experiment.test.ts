import { beforeEach, describe, expect, test } from "vitest";
import { makeRoom, type Ended, type Room } from "./rollout-cli.ts";

interface ExperimentJson {
  readonly exit_code: number;
  readonly experiment_id: string;
  readonly status: string;
  readonly total_runs: number;
  readonly successful_runs: number;
  readonly failed_runs: number;
  readonly skipped_runs: number;
  readonly failed_evaluations: number;
  readonly average_scores: Readonly<Record<string, number | null>>;
}

const examples = Array.from({ length: 6 }, (_, n) => ({ id: `e${n}`, input: n, output: 2 * n }));

const typescript = `
import { appendFileSync } from "node:fs";
import { defineExperiment } from "rollout-eval/experiments";
export default defineExperiment({
  name: "double",
  params: { factor: 2 },
  task: async (input: number, { params, runId }) => {
    appendFileSync("calls.txt", runId + "\\n");
    console.log("working on", input);
    if (process.env["SLOW"]) await new Promise((resolve) => setTimeout(resolve, 100));
    return params.factor * input;
  },
  evaluators: {
    right: ({ output, expected }) => (output === expected ? 1 : 0),
    small: ({ output }) => ({ score: Number(output) < 5 ? 1 : 0, label: "size" }),
  },
});
`;

/** An executor of the basic protocol alone, in Python without any SDK; what it does wrong is up to \`BAD\`. */
const bare = `
import json, os, sys, time
bad = os.environ.get("BAD", "")
def say(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    if command["cmd"] == "discover":
        if bad == "discover": time.sleep(600)
        say({"protocol_version": "1.0", "name": "bare", "task": "t", "evaluators": ["right"], "params": {}})
    elif command["cmd"] == "init":
        say({"ok": False, "error": "not today"} if bad == "init" else {"ok": True})
    elif command["cmd"] == "run_task":
        task = command["input"]
        if bad == "crash" and task["id"] == "e2": os._exit(3)
        if bad == "quiet" and task["id"] == "e2": continue
        if bad == "leave" and task["id"] == "e2" and not os.path.exists("left"):
            open("left", "w").close(); sys.exit(0)
        if bad == "noise": sys.stdout.write("thinking {about} it... ")
        if bad == "garbage": print('{"run_id": broken', flush=True)
        if bad == "strangers": say({"run_id": "nobody#1", "output": 1})
        answer = {"run_id": task["run_id"], "output": task["input"] * 2, "error": None}
        say(answer)
        if bad == "twice": say(answer)
    elif command["cmd"] == "run_eval":
        assert command["evaluators"] == ["right"] and "id" not in command
        value = command["input"]
        score = 1.0 if value["actual_output"] == value["expected_output"] else 0.0
        if bad == "nan": score = float("nan")
        say({"run_id": value["example"]["run_id"], "evaluator": "right", "score": score})
    elif command["cmd"] == "shutdown":
        if bad == "stay": time.sleep(600)
        say({"ok": True}); break
`;

let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  await room.write("examples.jsonl", examples.map((example) => JSON.stringify(example)).join("\n"));
  await room.write("double.ts", typescript);
  await room.write("bare.py", bare);
});

function read({ stdout, stderr }: Ended): ExperimentJson {
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as ExperimentJson;
}

async function lines(path: string): Promise<Record<string, unknown>[]> {
  return (await room.read(path))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function runBare(bad: string, ...more: string[]): Promise<Ended> {
  const words = [
    "experiment",
    "bare.py",
    "--dataset",
    "examples.jsonl",
    "--executor",
    "python3",
    "--name",
    "x",
    "--output-dir",
    "experiments",
    "--json",
  ];
  return room.run([...words, ...more], { env: { BAD: bad } });
}

describe("an experiment in TypeScript", () => {
  const words = [
    "experiment",
    "double.ts",
    "--dataset",
    "examples.jsonl",
    "--name",
    "first",
    "--output-dir",
    "experiments",
    "--json",
  ];

  test("runs every example, evaluates what came out, and keeps all of it as JSON lines", async () => {
    const end = await room.run(words);
    expect(end.code, end.stderr).toBe(0);
    expect(read(end)).toMatchObject({ status: "completed", total_runs: 6, average_scores: { right: 1, small: 0.5 } });
    expect(end.stderr).toContain("[e0#1] working on 0");
    expect(await lines("experiments/first/runs.jsonl")).toHaveLength(6);
    expect(await lines("experiments/first/evaluations.jsonl")).toHaveLength(12);
    expect(await room.readJson("experiments/first/config.json")).toMatchObject({ params: { factor: 2 } });
    expect(await room.readJson("experiments/first/summary.json")).toMatchObject({ successful_runs: 6 });
  });

  test("takes parameters and repetitions from the command line; a rehearsal keeps nothing", async () => {
    const end = await room.run([...words, "--param", "factor=3", "--repetitions", "2", "--dry-run", "2"]);
    expect(read(end)).toMatchObject({ total_runs: 4, average_scores: { right: 0.5 } });
    expect(await room.files(".").then((files) => files.filter((file) => file.startsWith("experiments")))).toEqual([]);
  });

  test.each([["--phased"], ["--processes", "2"]])("gives the same with %s", async (...more) => {
    expect(read(await room.run([...words, ...more]))).toMatchObject({
      successful_runs: 6,
      average_scores: { right: 1, small: 0.5 },
    });
  });

  test("Ctrl-C keeps what is done, and --resume runs the rest and nothing twice", async () => {
    const running = room.start([...words, "--max-workers", "1"], { env: { SLOW: "1" } });
    await expect.poll(() => room.read("calls.txt").catch(() => ""), { timeout: 30_000 }).toContain("e2#1");
    running.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
    const done = (await lines("experiments/first/runs.jsonl")).length;
    const before = (await room.read("calls.txt")).trim().split("\n").length;
    const resumed = await room.run([
      "experiment",
      "double.ts",
      "--dataset",
      "examples.jsonl",
      "--resume",
      "first",
      "--output-dir",
      "experiments",
      "--json",
    ]);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(read(resumed)).toMatchObject({ successful_runs: 6, skipped_runs: 0 });
    expect((await room.read("calls.txt")).trim().split("\n").length - before).toBe(6 - done);
    expect(await lines("experiments/first/runs.jsonl")).toHaveLength(6);
    expect(await lines("experiments/first/evaluations.jsonl")).toHaveLength(12);
  });
});

describe("an executor of the basic protocol", () => {
  test("that starts while the examples are looked at is not waited for when they are wrong", async () => {
    await room.write("examples.jsonl", '{"id":"a","input":1}\n{"id":"a","input":2}\n');
    const end = await runBare("discover");
    expect(end.code).toBe(2);
    expect(end.stderr).toContain('"a" is in line 1 already');
    expect(end.stderr).not.toContain("executor");
  });

  test("is driven with the seed's messages alone", async () => {
    const end = await runBare("");
    expect(end.code, end.stderr).toBe(0);
    expect(read(end)).toMatchObject({ successful_runs: 6, average_scores: { right: 1 } });
  });

  test.each(["noise", "garbage", "strangers", "twice"])("that misbehaves (%s) costs no result", async (bad) => {
    const end = await runBare(bad);
    expect(end.code, end.stderr).toBe(0);
    expect(read(end)).toMatchObject({ successful_runs: 6, average_scores: { right: 1 } });
    if (bad === "strangers") expect(end.stderr).toContain("an answer that nobody waits for (unknown)");
    if (bad === "twice") expect(end.stderr).toContain("an answer that nobody waits for (duplicate)");
  });

  test("that crashes on one example is started again, and that example alone has failed", async () => {
    const end = await runBare("crash");
    expect(end.code).toBe(3);
    expect(read(end)).toMatchObject({ successful_runs: 5, failed_runs: 1, status: "completed" });
    expect(await room.read("experiments/x/runs.jsonl")).toContain("the executor was lost 3 times");
  });

  test("that leaves in the middle is started again, and nothing is lost", async () => {
    expect(read(await runBare("leave"))).toMatchObject({ successful_runs: 6, failed_runs: 0 });
  });

  test("that does not answer one task fails that one by its deadline", async () => {
    const end = await runBare("quiet", "--task-timeout", "1");
    expect(read(end)).toMatchObject({ successful_runs: 5, failed_runs: 1 });
    expect(await room.read("experiments/x/runs.jsonl")).toContain("exceeded its limit of 1 seconds");
  });

  test("whose score is no number has failed that evaluation, not scored 0", async () => {
    const end = await runBare("nan");
    expect(end.code).toBe(3);
    expect(read(end)).toMatchObject({ failed_evaluations: 6, average_scores: { right: null } });
  });

  test("that refuses to be set up is told before anything is kept", async () => {
    const { code, stderr } = await runBare("init");
    expect(code).toBe(2);
    expect(stderr).toContain("it refused to be set up: not today");
  });

  test("that does not end when it is asked to is ended", async () => {
    expect((await runBare("stay")).code).toBe(0);
  });
});

test("a broken dataset is told with its line before anything starts", async () => {
  await room.write("examples.jsonl", '{"input": 1}\n{"input": 2, "ouput": 4}\n');
  const { code, stderr } = await room.run(["experiment", "double.ts", "--dataset", "examples.jsonl"]);
  expect(code).toBe(2);
  expect(stderr).toContain('examples.jsonl:2:1 ouput: unknown field; did you mean "output"?');
});
