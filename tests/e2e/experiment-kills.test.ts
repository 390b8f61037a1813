import { readFileSync } from "node:fs";
import { beforeEach, expect, test } from "vitest";
import { makeRoom, type Room } from "./rollout-cli.ts";

/** Deaf to the end of its input, and with a child of its own. */
const executor = `
import json, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"])
open("pids.txt", "a").write(f"{os.getpid()} {child.pid}\\n")
def say(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    cmd = command["cmd"]
    if cmd == "discover": say({"protocol_version": "1.0", "name": "slow", "evaluators": ["right"], "params": {}})
    elif cmd == "init": say({"ok": True})
    elif cmd == "run_task":
        open("calls.txt", "a").write(command["input"]["run_id"] + "\\n")
        time.sleep(float(os.environ.get("SLOW", "0")))
        say({"run_id": command["input"]["run_id"], "output": command["input"]["input"]})
    elif cmd == "run_eval":
        say({"run_id": command["input"]["run_id"], "evaluator": "right", "score": 1.0})
    elif cmd == "shutdown": say({"ok": True}); break
time.sleep(600)
`;

let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  const examples = Array.from({ length: 12 }, (_, n) => JSON.stringify({ id: `e${n}`, input: n, output: n }));
  await room.write("examples.jsonl", examples.join("\n"));
  await room.write("slow.py", executor);
});

const words = ["experiment", "slow.py", "--dataset", "examples.jsonl", "--executor", "python3", "--output-dir", "out"];

async function pids(): Promise<number[]> {
  return (await room.read("pids.txt").catch(() => "")).split(/\s+/).filter(Boolean).map(Number);
}

async function callCount(): Promise<number> {
  return (await room.read("calls.txt").catch(() => "")).split("\n").length - 1;
}

function isAlive(pid: number): boolean {
  try {
    // A process that waits for its parent to look is dead.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function resume() {
  const end = await room.run([...words, "--resume", "k", "--json"]);
  expect(end.code, end.stderr).toBe(0);
  expect(JSON.parse(end.stdout)).toMatchObject({
    status: "completed",
    successful_runs: 12,
    average_scores: { right: 1 },
  });
  for (const [name, key] of [
    ["runs", "run_id"],
    ["evaluations", "run_id"],
  ] as const) {
    const lines = (await room.read(`out/k/${name}.jsonl`)).trim().split("\n");
    const ids = lines.map((line) => (JSON.parse(line) as Record<string, string>)[key]);
    expect(new Set(ids).size, name).toBe(12);
    expect(ids, name).toHaveLength(12);
  }
}

test("kill -9 of the orchestrator takes its executors and all they started along; --resume runs the rest", async () => {
  const running = room.start([...words, "--name", "k", "--processes", "2", "--max-workers", "2"], {
    env: { SLOW: "0.4" },
  });
  await expect.poll(callCount, { timeout: 30_000 }).toBeGreaterThan(4);
  running.kill("SIGKILL");
  await running.ended;
  const started = await pids();
  expect(started).toHaveLength(4);
  await expect.poll(() => started.filter(isAlive), { timeout: 10_000 }).toEqual([]);
  const done = (await room.read("out/k/runs.jsonl")).trim().split("\n").length;
  expect(done).toBeGreaterThan(0);
  const calls = await callCount();
  await resume();
  expect((await callCount()) - calls).toBe(12 - done);
  expect((await pids()).filter(isAlive)).toEqual([]);
});

test("kill -9 of an executor costs a restart and no result, and nothing is left of either", async () => {
  const running = room.start([...words, "--name", "k", "--max-workers", "2", "--json"], { env: { SLOW: "0.2" } });
  await expect.poll(callCount, { timeout: 30_000 }).toBeGreaterThan(3);
  process.kill((await pids())[0] ?? 0, "SIGKILL");
  const end = await running.ended;
  expect(end.code, end.stderr).toBe(0);
  expect(JSON.parse(end.stdout)).toMatchObject({ successful_runs: 12, failed_runs: 0 });
  expect(end.stderr).toContain("it ended with SIGKILL");
  expect((await pids()).filter(isAlive)).toEqual([]);
});

test.for([
  ["Ctrl-C", "SIGINT", 130],
  ["a terminal that closes", "SIGHUP", 129],
  ["Ctrl-\\", "SIGQUIT", 131],
] as const)("%s ends executors that ignore everything, and keeps what is done", async ([, signal, exitCode]) => {
  const running = room.start([...words, "--name", "k", "--max-workers", "1"], { env: { SLOW: "0.3" } });
  await expect.poll(callCount, { timeout: 30_000 }).toBeGreaterThan(2);
  running.kill(signal);
  expect((await running.ended).code).toBe(exitCode);
  expect((await pids()).filter(isAlive)).toEqual([]);
  await resume();
});
