import { describe, expect, test, type TestContext } from "vitest";
import { cannotRun, makeRoom } from "../e2e/rollout-cli.ts";
import { pythonVersion } from "../sdk/find-python.ts";

/** The plain thing to write: a pool of threads, and print without a lock. The line end is a write of its own. */
const threaded = `
import json, sys
from concurrent.futures import ThreadPoolExecutor
def say(message): print(json.dumps(message), flush=True)
def task(input): say({"run_id": input["run_id"], "output": input["input"], "error": None})
def evaluate(name, input):
    say({"run_id": input["run_id"], "evaluator": name, "score": float(input["actual_output"] == input["expected_output"])})
pool = ThreadPoolExecutor(16)
sys.setswitchinterval(1e-6)
for line in sys.stdin:
    command = json.loads(line)
    cmd = command["cmd"]
    if cmd == "discover": say({"protocol_version": "1.0", "evaluators": ["right"], "params": {}})
    elif cmd == "init": say({"ok": True})
    elif cmd == "run_task": pool.submit(task, command["input"])
    elif cmd == "run_eval": pool.submit(evaluate, command["evaluators"][0], command["input"])
    elif cmd == "shutdown": pool.shutdown(); say({"ok": True}); break
`;

const count = 3000;
const limit = { timeout: 300_000 };

// Unbuffered, every print is two writes, and other threads write between them.
test.for(["python3", "python3 -u"])(
  "%s: threads that print without a lock lose nothing",
  limit,
  async (python, context) => {
    needPython(context);
    const room = await makeRoom();
    await room.write("threaded.py", threaded);
    const examples = Array.from({ length: count }, (_, n) => JSON.stringify({ id: `e${n}`, input: n, output: n }));
    await room.write("examples.jsonl", examples.join("\n"));
    const words = ["experiment", "threaded.py", "--executor", python, "--dataset", "examples.jsonl", "--json"];
    const end = await room.run([...words, "--max-workers", "16", "--name", "x", "--output-dir", "out"], {
      patienceMs: 200_000,
    });
    expect(end.code, end.stderr.slice(-2000)).toBe(0);
    expect(JSON.parse(end.stdout)).toMatchObject({
      successful_runs: count,
      average_scores: { right: 1 },
      protocol_problems: { unknown: 0, duplicate: 0, late: 0, malformed: 0, unconfirmed: 0 },
    });
  },
);

/** Two evaluators in flight at once. \`BAD\` says which of them fail, with an error that does not name them. */
const nameless = `
import json, os, sys, threading, time
lock = threading.Lock()
def say(message):
    with lock: print(json.dumps(message), flush=True)
waiting = []
for line in sys.stdin:
    command = json.loads(line)
    cmd = command["cmd"]
    if cmd == "discover": say({"protocol_version": "1.0", "evaluators": ["a", "b", "c"], "params": {}})
    elif cmd in ("init", "shutdown"): say({"ok": True})
    elif cmd == "run_task": say({"run_id": command["input"]["run_id"], "output": 1})
    elif cmd == "run_eval":
        waiting.append((command["input"]["run_id"], command["evaluators"][0]))
        if len(waiting) < 3: continue
        # Errors first: nothing tells yet whose they are.
        for run_id, name in waiting:
            if name in os.environ["BAD"]: say({"run_id": run_id, "error": f"{len(waiting)} judges, no judgement"})
        for run_id, name in waiting:
            if name not in os.environ["BAD"]: say({"run_id": run_id, "evaluator": name, "score": 1})
        waiting = []
    if cmd == "shutdown": break
`;

describe("errors that name no evaluator answer the evaluations of their run that nothing else answers", () => {
  test.each(["", "a", "bc", "abc"])("%s", async (bad) => {
    const room = await makeRoom();
    await room.write("nameless.py", nameless);
    await room.write("examples.jsonl", '{"id":"e","input":1}');
    const words = ["experiment", "nameless.py", "--executor", "python3", "--dataset", "examples.jsonl", "--json"];
    const end = await room.run([...words, "--name", "x", "--output-dir", "out"], { env: { BAD: bad } });
    expect(end.code, end.stderr).toBe(bad === "" ? 0 : 3);
    const lines = (await room.read("out/x/evaluations.jsonl")).trim().split("\n");
    const found = lines.map((line) => JSON.parse(line) as { evaluator_name: string; error: string | null });
    const failed = found.filter(({ error }) => error === "3 judges, no judgement").map((one) => one.evaluator_name);
    expect(failed.sort().join("")).toBe(bad);
    expect(found).toHaveLength(3);
    expect(JSON.parse(end.stdout)).toMatchObject({ protocol_problems: { unknown: 0, duplicate: 0 } });
  });
});

function needPython(context: TestContext): void {
  if (pythonVersion() === null) cannotRun(context, "there is no python3 >= 3.10 here");
}
