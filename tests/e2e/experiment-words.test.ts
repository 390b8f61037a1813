import { beforeEach, expect, test } from "vitest";
import { makeRoom, type Room } from "./rollout-cli.ts";

const executor = `
import json, sys
def say(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    cmd = command["cmd"]
    names = [] if "empty" in sys.argv[0] else ["right"]
    if cmd == "discover": say({"protocol_version": "1.0", "name": "words", "evaluators": names, "params": {}})
    elif cmd == "init": say({"ok": True})
    elif cmd == "run_task":
        print("a word of the task")
        say({"run_id": command["input"]["run_id"], "output": 1})
    elif cmd == "run_eval": say({"run_id": command["input"]["run_id"], "evaluator": "right", "score": 1.0})
    elif cmd == "shutdown": say({"ok": True}); break
`;

let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  await room.write("examples.jsonl", '{"id":"a","input":1,"output":1}\n');
  await room.write("words.py", executor);
  await room.write("empty.py", executor);
});

const words = ["experiment", "words.py", "--dataset", "examples.jsonl", "--executor", "python3"];

test.each(["--task-timeout", "--eval-timeout"])("%s takes nothing but seconds", async (option) => {
  const { code, stderr } = await room.run([...words, option, "abc"]);
  expect(code).toBe(2);
  expect(stderr).toContain("It takes a number of seconds above 0.");
});

test.each(["examples.jsonl", "/proc/nope"])(
  "an output directory that cannot be made (%s) is told",
  async (directory) => {
    const { code, stderr } = await room.run([...words, "--output-dir", directory, "--name", "x"]);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain("cannot be made");
  },
);

test("the end says what to type to see it again, and that works", async () => {
  const { code, stdout } = await room.run([...words, "--name", "x", "--output-dir", "out"]);
  expect(code).toBe(0);
  expect(stdout).toContain("rollout show out/x");
  expect((await room.run(["show", "out/x"])).stdout).toContain("right");
});

test("--quiet says nothing of what went right", async () => {
  const end = await room.run([...words, "--name", "x", "--quiet"]);
  expect(end).toMatchObject({ code: 0, stdout: "", stderr: "" });
});

test("a file without evaluators scores nothing", async () => {
  await room.run([...words, "--name", "x"]);
  const { code, stderr } = await room.run(["experiment", "score", "x", "empty.py", "--executor", "python3"]);
  expect(code).toBe(2);
  expect(stderr).toContain("empty.py has no evaluators");
});

test("the examples of an experiment are imported as a dataset as they are", async () => {
  const { code, stderr } = await room.run(["dataset", "import", "examples.jsonl", "--name", "d"]);
  expect(code, stderr).toBe(0);
});

test("a file with parameters of its own can score an experiment that had others", async () => {
  const define = (params: string, body: string): string =>
    `import { defineExperiment } from "rollout-eval/experiments";\nexport default defineExperiment({ params: ${params}, ${body} });\n`;
  await room.write("run.ts", define("{ factor: 2 }", "task: (input, { params }) => Number(input) * params.factor"));
  await room.write(
    "judge.ts",
    define(
      "{ least: 1 }",
      "task: () => null, evaluators: { big: ({ output, params }) => (Number(output) >= params.least ? 1 : 0) }",
    ),
  );
  const run = await room.run(["experiment", "run.ts", "--dataset", "examples.jsonl", "--name", "r"]);
  expect(run.code, run.stderr).toBe(0);
  const scored = await room.run(["experiment", "score", "r", "judge.ts", "--param", "least=2", "--json"]);
  expect(scored.code, scored.stderr).toBe(0);
  expect(JSON.parse(scored.stdout)).toMatchObject({ average_scores: { big: 1 } });
});
