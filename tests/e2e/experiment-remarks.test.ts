import { beforeEach, describe, expect, test } from "vitest";
import { makeRoom, type Ended, type Room } from "./rollout-cli.ts";

const bare = `
import json, os, signal, sys, time
bad = os.environ.get("BAD", "")
def say(message): print(json.dumps(message), flush=True)
def on_term(*_): open("term", "w").close(); os._exit(0)
signal.signal(signal.SIGTERM, on_term)
sys.stderr.write("an old warning\\n"); sys.stderr.flush()
for line in sys.stdin:
    command = json.loads(line)
    if command["cmd"] == "discover":
        say({"protocol_version": "1.0", "name": "bare", "task": "t", "evaluators": ["right"], "params": {}})
    elif command["cmd"] == "init": say({"ok": True})
    elif command["cmd"] == "run_task":
        task = command["input"]
        if task["id"] == "b":
            if bad in ("exit", "signal"):
                sys.stdout.write("dividing by zero"); sys.stdout.flush()
                os._exit(7) if bad == "exit" else os.kill(os.getpid(), signal.SIGSEGV)
            if bad == "hang":
                open("hanging", "w").close(); time.sleep(600)
        say({"run_id": task["run_id"], "output": task["input"]})
    elif command["cmd"] == "run_eval":
        say({"run_id": command["input"]["run_id"], "evaluator": "right", "score": "high" if bad == "score" else 1})
    elif command["cmd"] == "shutdown": say({"ok": True}); break
`;

let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  await room.write("examples.jsonl", '{"id":"a","input":1,"output":1}\n{"id":"b","input":2,"output":2}\n');
  await room.write("bare.py", bare);
});

const bareWords = ["experiment", "bare.py", "--executor", "python3", "--dataset", "examples.jsonl", "--name", "x"];

function run(file: string, ...more: string[]): Promise<Ended> {
  return room.run(["experiment", file, "--dataset", "examples.jsonl", "--name", "x", ...more]);
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

describe("an executor that is lost", () => {
  test.each([
    { bad: "exit", how: "exit code 7" },
    { bad: "signal", how: "SIGSEGV" },
  ])("is told with $how and what it printed meanwhile, and not with what it printed before", async ({ bad, how }) => {
    const end = await room.run([...bareWords, "--json", "--output-dir", "out"], { env: { BAD: bad } });
    expect(end.code).toBe(3);
    const runs = (await room.read("out/x/runs.jsonl")).trim().split("\n");
    const lost = runs.map((line) => JSON.parse(line) as { error: string | null }).find(({ error }) => error !== null);
    expect(lost?.error).toBe(`the executor was lost 3 times: it ended with ${how}; its last words: dividing by zero`);
  });

  test("is no part of a run's time: that begins with its last try", async () => {
    await room.run([...bareWords, "--json", "--output-dir", "out"], { env: { BAD: "exit" } });
    const runs = (await room.read("out/x/runs.jsonl")).trim().split("\n");
    const lost = runs
      .map((line) => JSON.parse(line) as { error: string | null; started_at: string })
      .find(({ error }) => error !== null);
    // It waits 100 ms and starts a process before each of the two tries that follow the first.
    const first = await room.readJson<{ started_at: string }>("out/x/config.json");
    expect(Date.parse(lost?.started_at ?? "") - Date.parse(first.started_at)).toBeGreaterThan(200);
  });

  test("by its own process.exit has said what it printed before", async () => {
    await room.write(
      "exits.ts",
      `import { defineExperiment } from "rollout-eval/experiments";
      export default defineExperiment({
        task: (n: number) => { console.log("about to leave"); if (n === 2) process.exit(4); return n; },
      });`,
    );
    const end = await run("exits.ts");
    expect(end.code).toBe(3);
    expect(end.stdout).toMatch(/it ended with exit code 4; its last words: about to\s+leave/);
  });
});

test("a second Ctrl-C ends an executor at once, without asking it first", async () => {
  const running = room.start(bareWords, { env: { BAD: "hang" } });
  await running.until("it hangs", () =>
    room.read("hanging").then(
      () => true,
      () => false,
    ),
  );
  running.kill("SIGINT");
  await running.until("it stops", () => running.stderr().includes("once more to stop waiting"));
  running.kill("SIGINT");
  expect((await running.ended).code).toBe(130);
  expect(await room.files(".")).not.toContain("term");
});

test.each([
  { file: "broken.py", text: "import nowhere_to_be_found\n", part: "Traceback" },
  { file: "broken.ts", text: 'import "./nowhere.ts";\n', part: "ERR_MODULE_NOT_FOUND" },
])("what keeps $file from being loaded is told once", async ({ file, text, part }) => {
  await room.write(file, text);
  for (const more of [[], ["--quiet"]]) {
    const { code, stderr } = await run(file, ...more);
    expect(code).toBe(2);
    expect(count(stderr, part), stderr).toBe(1);
  }
});

test("a file without a task is refused before anything runs, and can still score", async () => {
  await room.write("marks.py", "from rollout_eval import evaluator\n@evaluator\ndef long(output): return 1\n");
  const { code, stderr } = await run("marks.py");
  expect(code).toBe(2);
  expect(stderr).toContain("marks.py has no task");
  expect((await room.run(["show", "x"])).code).toBe(2);
  await room.run(bareWords);
  expect((await room.run(["experiment", "score", "x", "marks.py"])).code).toBe(0);
});

test("params of a Python file that declares a dict are checked by name and by type", async () => {
  await room.write(
    "typed.py",
    "from rollout_eval import experiment, task\nexperiment(params={'size': 2})\n@task\ndef t(input, params): return params['size']\n",
  );
  expect((await run("typed.py", "--param", "sise=3")).stderr).toContain('unknown param "sise"; did you mean "size"?');
  expect((await run("typed.py", "--param", "size=large")).stderr).toContain('param "size" is a number (default 2)');
  expect((await run("typed.py", "--param", "size=3", "--param", "size=4")).stderr).toContain(
    "--param size is given twice",
  );
  expect((await run("typed.py", "--param", "size=3")).code).toBe(0);
});

test("a TypeScript file without a name goes by the name of the file", async () => {
  await room.write(
    "nameless.ts",
    'import { defineExperiment } from "rollout-eval/experiments";\nexport default defineExperiment({ task: (n: number) => n });',
  );
  expect((await run("nameless.ts")).stdout).toMatch(/^nameless /m);
  expect((await room.run(["show", "x"])).stdout).toMatch(/^nameless /m);
});

test("a dry run reports that nothing is stored; events have the outputs; a wrong score is shown", async () => {
  const dry = await room.run([...bareWords, "--dry-run"]);
  expect(dry.stdout).toContain("dry run: nothing is stored");
  const events = await room.run([...bareWords, "--json=events"]);
  const units = events.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; unit?: { key: string; output: unknown } })
    .flatMap(({ type, unit }) => (type === "unit_finished" && unit ? [`${unit.key} ${String(unit.output)}`] : []));
  expect(units.toSorted()).toEqual(["a#1 1", "b#1 2"]);
  const wrong = await room.run([...bareWords, "--name", "y"], { env: { BAD: "score" } });
  expect(wrong.stdout).toContain('the score is not a number: "high"');
});

test.each([
  [
    "both.jsonl",
    '{"input":1,"output":2,"expected_output":3}\n',
    "both.jsonl:1:1 expected_output: it means the same as `output`",
  ],
  ["comma.json", '[{"input":1},\n{"input":2},\n]', 'comma.json:3:1 expected a value: a "," before "]"'],
  ["inner.json", '[{"input":1},\n{"input":2,}]', 'inner.json:2:12 a "," before "}" has nothing behind it'],
  ["semicolon.csv", "id;input\na;1\n", 'semicolon.csv:1:1 the columns are separated by ";"'],
  ["folder.jsonl/inside.txt", "", "folder.jsonl is a directory, not a file"],
])("examples in %s are refused in words", async (file, text, message) => {
  await room.write(file, text);
  const [dataset = ""] = file.split("/");
  const { code, stderr } = await room.run(["experiment", "bare.py", "--executor", "python3", "--dataset", dataset]);
  expect(stderr).toContain(message);
  expect(code).toBe(2);
});
