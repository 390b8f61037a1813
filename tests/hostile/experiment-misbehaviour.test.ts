import { beforeEach, describe, expect, test } from "vitest";
import { makeRoom, type Ended, type Room } from "../e2e/rollout-cli.ts";

/** A basic executor, one thing at a time; `BAD` says what it does wrong with the example `e2`. */
const executor = `
import json, os, sys, time
bad = os.environ["BAD"]
out = sys.stdout
def say(message, end="\\n"):
    out.write(json.dumps(message) + end); out.flush()
def once(name):
    if os.path.exists(name): return False
    open(name, "w").close(); return True
for line in sys.stdin:
    command = json.loads(line)
    cmd = command["cmd"]
    if cmd == "discover":
        if bad == "discover-dies": sys.exit(7)
        if bad == "discover-error": say({"error": "SyntaxError: line 3"}); sys.exit(1)
        if bad == "discover-print": print("loading the model... 100%")
        say({"protocol_version": "1.0", "name": "bad", "task": "t", "evaluators": ["right"], "params": {}})
    elif cmd == "init":
        say({"ok": True})
    elif cmd == "run_task":
        task = command["input"]
        answer = {"run_id": task["run_id"], "output": task["input"] * 2, "error": None}
        if task["id"] != "e2": say(answer); continue
        if bad == "print-before": out.write("working "); say(answer)
        elif bad == "print-after": say(answer, end=" done\\n"); out.flush()
        elif bad == "print-line": print("a line of its own"); say(answer)
        elif bad == "print-json": print(json.dumps({"loss": 0.25, "step": 3})); say(answer)
        elif bad == "print-megabytes":
            for _ in range(4096): out.write("x" * 1023 + "\\n")
            say(answer)
        elif bad == "print-one-line": out.write("y" * (4 << 20)); say(answer)
        elif bad == "print-forged": say({"run_id": "e3#1", "output": 999}); say(answer)
        elif bad == "invalid-json": out.write('{"run_id": "e2#1", "output": \\n'); say(answer)
        elif bad == "binary": out.buffer.write(bytes(range(128, 256)) + b"\\n"); say(answer)
        elif bad == "unknown-id": say({**answer, "run_id": "e9#1"}); say(answer)
        elif bad == "duplicate": say(answer); say({**answer, "output": 999})
        elif bad == "late": time.sleep(1.6); say(answer)
        elif bad == "missing-id": say({"output": 4, "error": None})
        elif bad == "nan-output": out.write('{"run_id": "e2#1", "output": NaN}\\n'); out.flush()
        elif bad == "huge-answer": say({**answer, "metadata": {"text": "z" * (8 << 20)}})
        elif bad == "half-line": out.write('{"run_id": "e2#1", "out'); out.flush()
        elif bad == "no-answer": pass
        elif bad == "hang": time.sleep(600)
        elif bad == "crash": os.kill(os.getpid(), 9)
        elif bad == "crash-once": os._exit(9) if once("crashed") else say(answer)
        elif bad == "exit-0": sys.exit(0) if once("left") else say(answer)
        elif bad == "error-object": say({"run_id": "e2#1", "error": {"type": "RateLimit", "retry": 3}})
        elif bad == "stderr-flood":
            for _ in range(4096): sys.stderr.write("e" * 1023 + "\\n")
            say(answer)
        elif bad == "closes-stdout": os.close(1); time.sleep(600)
        else: say(answer)
    elif cmd == "run_eval":
        value = command["input"]
        run_id = value["example"]["run_id"]
        result = {"run_id": run_id, "evaluator": "right", "score": float(value["actual_output"] == value["expected_output"])}
        if not run_id.startswith("e2#"): say(result); continue
        if bad == "eval-infinity": say({**result, "score": float("inf")})
        elif bad == "eval-text": say({**result, "score": "great"})
        elif bad == "eval-stranger": say({**result, "evaluator": "somebody"}); say(result)
        elif bad == "eval-crash": os._exit(4)
        elif bad == "eval-list": say({"data": [result]})
        elif bad == "eval-error": say({**result, "score": 0.0, "error": "no judge"})
        else: say(result)
    elif cmd == "shutdown":
        if bad == "shutdown-silent": break
        say({"ok": True}); break
`;

let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  const examples = Array.from({ length: 6 }, (_, n) => ({ id: `e${n}`, input: n, output: 2 * n }));
  await room.write("examples.jsonl", examples.map((example) => JSON.stringify(example)).join("\n"));
  await room.write("bad.py", executor);
});

interface Outcome {
  readonly code: number | null;
  readonly stderr: string;
  readonly json: Record<string, unknown>;
  readonly runs: Record<string, unknown>[];
  readonly evaluations: Record<string, unknown>[];
}

async function misbehave(bad: string, ...more: string[]): Promise<Outcome> {
  const words = ["experiment", "bad.py", "--dataset", "examples.jsonl", "--executor", "python3", "--output-dir", "out"];
  const end: Ended = await room.run([...words, "--name", "x", "--json", ...more], { env: { BAD: bad } });
  const lines = async (name: string) =>
    (await room.read(`out/x/${name}`).catch(() => ""))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const json = end.stdout === "" ? {} : (JSON.parse(end.stdout) as Record<string, unknown>);
  return {
    code: end.code,
    stderr: end.stderr,
    json,
    runs: await lines("runs.jsonl"),
    evaluations: await lines("evaluations.jsonl"),
  };
}

describe("an executor that", () => {
  test.each([
    ["discover-print", "loading the model"],
    ["print-before", "working"],
    ["print-after", "done"],
    ["print-line", "a line of its own"],
    ["print-json", '"loss"'],
    ["print-megabytes", "xxx"],
    ["print-one-line", "yyy"],
    ["invalid-json", '{"run_id": "e2#1", "output":'],
    ["binary", "�"],
    ["unknown-id", "an answer that nobody waits for (unknown)"],
    ["duplicate", "an answer that nobody waits for (duplicate)"],
    ["stderr-flood", "eee"],
    ["eval-stranger", "an answer that nobody waits for (unknown)"],
    ["eval-list", ""],
    ["huge-answer", ""],
    ["missing-id", ""],
    ["crash-once", "is started again"],
    ["exit-0", "is started again"],
    ["shutdown-silent", ""],
  ])("misbehaves with %s costs no result, and it is told", async (bad, told) => {
    const { code, stderr, json, runs, evaluations } = await misbehave(bad, "--max-workers", "1");
    expect(code, stderr.slice(-2000)).toBe(0);
    expect(json).toMatchObject({ successful_runs: 6, failed_runs: 0, average_scores: { right: 1 } });
    expect(runs.map((run) => run["actual_output"])).toEqual([0, 2, 4, 6, 8, 10]);
    expect(new Set(evaluations.map((one) => one["run_id"])).size).toBe(6);
    expect(evaluations).toHaveLength(6);
    expect(stderr).toContain(told);
  });

  test("forges the answer of a run that is not in flight gives that run nothing", async () => {
    const { json, runs, stderr } = await misbehave("print-forged", "--max-workers", "1");
    expect(json).toMatchObject({ successful_runs: 6, average_scores: { right: 1 } });
    expect(runs.find((run) => run["run_id"] === "e3#1")?.["actual_output"]).toBe(6);
    expect(stderr).toContain("an answer that nobody waits for");
  });

  test.each([
    ["half-line", "exceeded its limit of 1 seconds"],
    ["no-answer", "exceeded its limit of 1 seconds"],
    ["hang", "exceeded its limit of 1 seconds"],
    ["late", "exceeded its limit of 1 seconds"],
    ["closes-stdout", "exceeded its limit of 1 seconds"],
    ["crash", "the executor was lost 3 times: it ended with SIGKILL"],
    ["error-object", '{"type": "RateLimit", "retry": 3}'],
  ])("misbehaves with %s fails that run alone, with a reason", async (bad, reason) => {
    const { code, json, runs, stderr } = await misbehave(bad, "--max-workers", "1", "--task-timeout", "1");
    expect(code, stderr.slice(-2000)).toBe(3);
    expect(json).toMatchObject({ status: "completed", successful_runs: 5, failed_runs: 1, skipped_runs: 0 });
    const failed = runs.find((run) => run["run_id"] === "e2#1");
    expect(failed).toMatchObject({ actual_output: null });
    expect(failed?.["error"]).toContain(reason);
    if (bad === "late") expect(stderr).toContain("an answer that nobody waits for (late)");
    if (bad === "hang") expect(stderr).toContain("did not let go of something");
  });

  test.each([
    ["eval-infinity", "the score is not a finite number"],
    ["eval-text", "the score is not a number"],
    ["eval-crash", "the executor was lost 3 times"],
    ["eval-error", "no judge"],
  ])("misbehaves with %s fails that evaluation alone: it has no score", async (bad, reason) => {
    const { code, json, evaluations, stderr } = await misbehave(bad, "--max-workers", "1");
    expect(code, stderr.slice(-2000)).toBe(3);
    expect(json).toMatchObject({ successful_runs: 6, failed_evaluations: 1, average_scores: { right: 1 } });
    const failed = evaluations.find((one) => one["run_id"] === "e2#1");
    expect(failed).toMatchObject({ score: null, error: expect.stringContaining(reason) });
  });

  test("has no number for an output has none: null, and the run is told from one that failed", async () => {
    const { json, runs } = await misbehave("nan-output", "--max-workers", "1");
    expect(json).toMatchObject({ successful_runs: 6, average_scores: { right: 5 / 6 } });
    expect(runs.find((run) => run["run_id"] === "e2#1")).toMatchObject({ actual_output: null, error: null });
  });

  test.each([
    ["discover-dies", "it ended with exit code 7"],
    ["discover-error", "SyntaxError: line 3"],
  ])("cannot be used (%s) is told before anything is kept", async (bad, reason) => {
    const { code, stderr, runs } = await misbehave(bad);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
    expect(runs).toEqual([]);
  });
});
