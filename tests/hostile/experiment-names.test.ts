import { execFileSync } from "node:child_process";
import { beforeEach, describe, expect, test } from "vitest";
import { runExperiment, type Executor } from "rollout-eval/experiments";
import { makeRoom, type Room } from "../e2e/rollout-cli.ts";

/** Answers each command. `NAMES` is what it adds to its answer to discover. */
const executor = `
import json, os, sys
open("started", "w").close()
def say(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    cmd = command["cmd"]
    if cmd == "discover":
        say({"protocol_version": "1.0", "name": "n", "task": "t", "params": {}, **json.loads(os.environ["NAMES"])})
    elif cmd in ("init", "shutdown"): say({"ok": True})
    elif cmd == "run_task": say({"run_id": command["input"]["run_id"], "output": 1})
    elif cmd == "run_eval":
        for name in command["evaluators"]:
            say({"run_id": command["input"]["run_id"], "evaluator": name, "score": 1})
    if cmd == "shutdown": break
`;

let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  await room.write("names.py", executor);
  await room.write("examples.jsonl", '{"id":"a","input":1}\n{"id":"b","input":2}\n');
});

const words = ["experiment", "names.py", "--executor", "python3", "--dataset", "examples.jsonl", "--output-dir", "out"];

describe("an executor that names something twice is refused before anything starts", () => {
  test.each([
    [{ evaluators: ["right", "fast", "right"] }, 'evaluators 1 and 3 are both named "right"'],
    [{ evaluators: [], aggregates: ["mean", "mean"] }, 'aggregates 1 and 2 are both named "mean"'],
  ])("%j", async (names, problem) => {
    const end = await room.run([...words, "--name", "x"], { env: { NAMES: JSON.stringify(names) } });
    expect(end.code, end.stderr).toBe(2);
    expect(end.stderr).toContain(problem);
    expect(end.stderr).toContain("give each a name of its own");
    expect(await room.files("out").catch(() => [])).toEqual([]);
  });

  test("an executor in this process", async () => {
    const executor = { discover: async () => ({ protocol_version: "1.0", evaluators: ["a", "a"], params: {} }) };
    const { signal } = new AbortController();
    const run = runExperiment({ executor: executor as unknown as Executor, examples: [{ input: 1 }], signal });
    await expect(run).rejects.toThrow('evaluators 1 and 2 are both named "a"');
  });
});

test("an evaluator and an id with spaces are never mistaken for another pair", async () => {
  // "a#1 b#1" + "c" and "a#1" + "b#1 c" are the same text when they are joined with a space.
  await room.write("examples.jsonl", '{"id":"a","input":1}\n{"id":"a#1 b","input":2}\n');
  const env = { NAMES: JSON.stringify({ evaluators: ["b#1 c", "c"] }) };
  const end = await room.run([...words, "--name", "x", "--json"], { env });
  expect(end.code, end.stderr).toBe(0);
  expect(JSON.parse(end.stdout)).toMatchObject({ average_scores: { "b#1 c": 1, c: 1 } });
  expect((await room.read("out/x/evaluations.jsonl")).trim().split("\n")).toHaveLength(4);
});

/** Hangs in its task, ignores SIGTERM, and leaves a process in another session that keeps its streams open. */
const clinging = `
import json, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def say(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    if command["cmd"] == "discover":
        daemon = subprocess.Popen(["sleep", "60"], start_new_session=True)
        open("daemon", "w").write(str(daemon.pid))
        say({"protocol_version": "1.0", "evaluators": [], "params": {}})
    elif command["cmd"] == "init": say({"ok": True})
    elif command["cmd"] == "run_task":
        if os.environ.get("HANG"): open("hanging", "w").close(); time.sleep(600)
        say({"run_id": command["input"]["run_id"], "output": 1})
    elif command["cmd"] == "shutdown": say({"ok": True}); break
`;

describe("an executor whose streams stay open when it has ended", () => {
  beforeEach(async () => {
    await room.write("names.py", clinging);
  });

  async function endDaemon(): Promise<void> {
    process.kill(Number(await room.read("daemon")), "SIGKILL");
  }

  test("does not keep the experiment from its end", async () => {
    const end = await room.run([...words, "--name", "x", "--json"]);
    await endDaemon();
    expect(end.code, end.stderr).toBe(0);
  });

  test("is left by the second signal, whatever is pending", async () => {
    const running = room.start([...words, "--name", "x"], { env: { HANG: "1" } });
    await running.until("a task hangs", async () => (await room.files(".")).includes("hanging"));
    running.kill("SIGINT");
    await running.until("the first signal was heard", () => running.stderr().includes("once more to stop waiting"));
    running.kill("SIGINT");
    const end = await running.ended;
    await endDaemon();
    expect(end.code, end.stderr).toBe(130);
  });
});

test("the second signal ends the command also while the system does not answer", async () => {
  execFileSync("mkfifo", [room.path("fifo.jsonl")]);
  const fifo = ["experiment", "names.py", "--executor", "python3", "--dataset", "fifo.jsonl", "--output-dir", "out"];
  const running = room.start(fifo, { env: { NAMES: '{"evaluators":[]}' } });
  // Nobody writes to it, so opening it never returns.
  await running.until("the executor runs", async () => (await room.files(".")).includes("started"));
  running.kill("SIGINT");
  await running.until("the first signal was heard", () => running.stderr().includes("once more to stop waiting"));
  running.kill("SIGINT");
  const end = await running.ended;
  expect(end.signal, end.stderr).toBe("SIGINT");
});
