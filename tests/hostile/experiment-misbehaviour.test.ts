import { beforeEach, describe, expect, test } from "vitest";
import { makeRoom, type Ended, type Room } from "../e2e/rollout-cli.ts";

/** A basic executor, one thing at a time; `BAD` says what it does wrong with the example `e2`. */
const executor = `
import json, os, sys, threading, time
bad = os.environ["BAD"]
mark = {"__cat__": 1} if os.environ.get("MARK") else {}
out = sys.stdout
def say(message, end="\\n"):
    out.write(json.dumps({**mark, **message}) + end); out.flush()
def show(text):
    out.write(text + "\\n"); out.flush()
def deep(levels):
    return "[" * levels + "]" * levels
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
        if bad == "discover-ok": show('{"ok": true}')
        if bad == "discover-null": show('{"error": null, "cache": "warm"}')
        if bad == "discover-nan": show('{"protocol_version": "1.0", "evaluators": ["right"], "params": {"limit": Infinity}}'); continue
        say({"protocol_version": "1.0", "name": "bad", "task": "t", "evaluators": ["right"], "params": {}})
    elif cmd == "init":
        if bad == "init-null": show('{"error": null, "loaded": 3}')
        say({"ok": True})
    elif cmd == "run_task":
        task = command["input"]
        answer = {"run_id": task["run_id"], "output": task["input"] * 2, "error": None}
        if task["id"] != "e2": say(answer); continue
        if bad == "show-ok": show('{"ok": true}'); say(answer)
        elif bad == "show-error": show('{"error": "cache miss"}'); say(answer)
        elif bad == "show-output": show('{"output": 999, "error": null}'); say(answer)
        elif bad == "show-event": show('{"run_id": "e2#1", "event": "started"}'); say(answer)
        elif bad == "show-score": show('{"run_id": "e2#1", "score": 0.5}'); say(answer)
        elif bad == "show-score-null": show('{"run_id": "e2#1", "score": 0.5, "error": null}'); say(answer)
        elif bad == "show-label": show('{"run_id": "e2#1", "label": "a"}'); say(answer)
        elif bad == "show-list": show('{"data": [{"name": "x"}]}'); say(answer)
        elif bad == "show-log": show('{"log": "a line"}'); show('{"heartbeat": 1}'); say(answer)
        elif bad == "show-unmarked": show('{"run_id": "e2#1", "output": 999}'); say(answer)
        elif bad == "stray-error": show('{"__cat__": 1, "error": "Invalid command"}'); say(answer)
        elif bad == "glued": show("a" + json.dumps({"run_id": "e9#1", "output": 0}) + "b {c" + json.dumps(answer) + "\\n")
        elif bad == "glued-braces": show("{x " * 500 + json.dumps(answer))
        elif bad == "no-line-end": say(answer, end="")
        elif bad == "no-line-end-braces": out.write("{'step': 1} {50%} { "); say(answer, end="")
        elif bad == "no-line-end-dots":
            say(answer, end="")
            def print_dots():
                for _ in range(400): time.sleep(0.05); out.write("."); out.flush()
            threading.Thread(target=print_dots, daemon=True).start()
        elif bad == "torn":
            text = json.dumps(answer)
            show(text[:12] + json.dumps({"run_id": "e9#1", "output": 0}) + text[12:]); say(answer)
        elif bad == "nan-metadata": show('{"run_id": "e2#1", "output": 4, "metadata": {"loss": NaN, "best": [-Infinity, "NaN"]}}')
        elif bad == "infinity-output": show('{"run_id": "e2#1", "output": {"run_id": "e3#1", "error": "x", "p": [Infinity]}}')
        elif bad == "deep-output": show('{"output": ' + deep(50000) + ', "run_id": "e2#1"}')
        elif bad == "deep-metadata": show('{"run_id": "e2#1", "output": 4, "metadata": {"a": ' + deep(50000) + '}}')
        elif bad == "print-before": out.write("working "); say(answer)
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
        elif bad == "crash": open("crashes", "a").write("x"); os.kill(os.getpid(), 9)
        elif bad == "crash-once": os._exit(9) if once("crashed") else say(answer)
        elif bad == "exit-0": sys.exit(0) if once("left") else say(answer)
        elif bad == "error-object": say({"run_id": "e2#1", "error": {"type": "RateLimit", "retry": 3}})
        elif bad == "stderr-flood":
            for _ in range(4096): sys.stderr.write("e" * 1023 + "\\n")
            say(answer)
        elif bad == "closes-stdout": os.close(1); time.sleep(600)
        elif bad == "closes-once":
            if once("closed"): os.close(1); time.sleep(600)
            say(answer)
        else: say(answer)
    elif cmd == "run_eval":
        value = command["input"]
        run_id = value["example"]["run_id"]
        result = {"run_id": run_id, "evaluator": "right", "score": float(value["actual_output"] == value["expected_output"])}
        if not run_id.startswith("e2#"): say(result); continue
        if bad == "eval-infinity": say({**result, "score": float("inf")})
        elif bad == "eval-text": say({**result, "score": "great"})
        elif bad == "eval-nan-metadata": say({**result, "metadata": {"loss": float("nan")}})
        elif bad == "eval-no-name": say({"run_id": run_id, "error": "no judge"})
        elif bad == "eval-null-name": say({"run_id": run_id, "evaluator": None, "score": None, "error": "no judge"})
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
  return await misbehaveIn({ BAD: bad }, ...more);
}

async function misbehaveIn(env: Readonly<Record<string, string>>, ...more: string[]): Promise<Outcome> {
  const words = ["experiment", "bad.py", "--dataset", "examples.jsonl", "--executor", "python3", "--output-dir", "out"];
  const end: Ended = await room.run([...words, "--name", "x", "--json", ...more], { env });
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
    ["crash-once", "is restarted"],
    ["exit-0", "is restarted"],
    ["closes-once", "is restarted: it closed its stdout and kept running"],
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
    ["missing-id", "exceeded its limit of 1 seconds"],
    ["hang", "exceeded its limit of 1 seconds"],
    ["late", "exceeded its limit of 1 seconds"],
    ["crash", "the executor was lost 3 times: it ended with SIGKILL"],
    ["nan-output", "the output holds NaN or Infinity, which are not JSON numbers"],
    ["infinity-output", "the output holds NaN or Infinity, which are not JSON numbers"],
    ["deep-output", "the output is nested too deep to be read"],
    ["error-object", '{"type": "RateLimit", "retry": 3}'],
  ])("misbehaves with %s fails that run alone, with a reason", async (bad, reason) => {
    const { code, json, runs, stderr } = await misbehave(bad, "--max-workers", "1", "--task-timeout", "1");
    expect(code, stderr.slice(-2000)).toBe(3);
    expect(json).toMatchObject({ status: "completed", successful_runs: 5, failed_runs: 1, skipped_runs: 0 });
    const failed = runs.find((run) => run["run_id"] === "e2#1");
    expect(failed).toMatchObject({ actual_output: null });
    expect(failed?.["error"]).toContain(reason);
    if (bad === "late") expect(stderr).toContain("an answer that nobody waits for (late)");
    if (bad === "late") expect(json).toMatchObject({ protocol_problems: { late: 1, unconfirmed: 0 } });
    if (bad === "missing-id") expect(json).toMatchObject({ protocol_problems: { unconfirmed: 1 } });
    if (bad === "crash") expect(await room.read("crashes")).toBe("xxx");
    if (bad === "hang") expect(stderr).toContain("did not let go of something");
  });

  test("closes its stdout and hangs is lost, as one that ends is", async () => {
    const { code, json, runs, stderr } = await misbehave("closes-stdout", "--max-workers", "1");
    expect(code, stderr.slice(-2000)).toBe(3);
    expect(json).toMatchObject({ status: "completed", successful_runs: 5, failed_runs: 1 });
    const lost = {
      error_type: "executor_lost",
      error: expect.stringContaining("it closed its stdout and kept running"),
    };
    expect(runs.find((run) => run["run_id"] === "e2#1")).toMatchObject(lost);
  });

  test.each([
    ["eval-infinity", "the score is not a finite number"],
    ["eval-text", "the score is not a number"],
    ["eval-crash", "the executor was lost 3 times"],
    ["eval-error", "no judge"],
    ["eval-no-name", "no judge"],
    ["eval-null-name", "no judge"],
  ])("misbehaves with %s fails that evaluation alone: it has no score", async (bad, reason) => {
    const { code, json, evaluations, stderr } = await misbehave(bad, "--max-workers", "1");
    expect(code, stderr.slice(-2000)).toBe(3);
    expect(json).toMatchObject({ successful_runs: 6, failed_evaluations: 1, average_scores: { right: 1 } });
    const failed = evaluations.find((one) => one["run_id"] === "e2#1");
    expect(failed).toMatchObject({ score: null, error: expect.stringContaining(reason) });
  });

  test.each([
    ["show-ok", { unconfirmed: 1 }],
    ["show-error", { unconfirmed: 1 }],
    ["show-output", { unconfirmed: 1 }],
    ["show-event", { unconfirmed: 1 }],
    ["show-score", { unconfirmed: 1 }],
    ["show-score-null", { unconfirmed: 1 }],
    ["show-label", { unconfirmed: 1 }],
    ["show-list", { unconfirmed: 1 }],
    ["show-log", { unconfirmed: 2 }],
    ["stray-error", { unconfirmed: 1 }],
    ["discover-ok", { unconfirmed: 1 }],
    ["discover-null", { unconfirmed: 1 }],
    ["init-null", { unconfirmed: 1 }],
    ["print-json", {}],
    ["glued", { unknown: 1 }],
    ["glued-braces", {}],
    ["no-line-end", {}],
    ["no-line-end-braces", {}],
    ["no-line-end-dots", {}],
    ["torn", { unknown: 1, malformed: 1 }],
    ["nan-metadata", { malformed: 1 }],
    ["deep-metadata", { malformed: 1 }],
    ["eval-nan-metadata", { malformed: 1 }],
    ["unknown-id", { unknown: 1 }],
    ["duplicate", { duplicate: 1 }],
    ["invalid-json", { malformed: 1 }],
  ])("misbehaves with %s costs no result, and it is counted: %j", async (bad, counts) => {
    const expected = { unknown: 0, duplicate: 0, late: 0, malformed: 0, unconfirmed: 0, ...counts };
    // One task at a time: what names no run would be taken for the only one that waits.
    const { code, stderr, json, runs } = await misbehave(bad, "--max-workers", "1", "--task-timeout", "10");
    expect(code, stderr.slice(-2000)).toBe(0);
    expect(json).toMatchObject({ successful_runs: 6, average_scores: { right: 1 }, protocol_problems: expected });
    expect(runs.map((run) => run["actual_output"])).toEqual([0, 2, 4, 6, 8, 10]);
    expect(await room.readJson("out/x/summary.json")).toMatchObject({ protocol_problems: expected });
  });

  test.each([
    ["show-unmarked", { unconfirmed: 1 }],
    ["show-error", { unconfirmed: 1 }],
    ["show-ok", { unconfirmed: 1 }],
    ["stray-error", { unconfirmed: 1 }],
    ["", {}],
  ])("marks its answers is held to its mark: %s", async (bad, counts) => {
    const { code, stderr, json, runs } = await misbehaveIn({ BAD: bad, MARK: "1" }, "--max-workers", "1");
    expect(code, stderr.slice(-2000)).toBe(0);
    expect(json).toMatchObject({ successful_runs: 6, protocol_problems: counts });
    expect(runs.map((run) => run["actual_output"])).toEqual([0, 2, 4, 6, 8, 10]);
  });

  test("has NaN in its metadata has it stored as text", async () => {
    const { runs, stderr } = await misbehave("nan-metadata");
    const metadata = runs.find((run) => run["run_id"] === "e2#1")?.["metadata"];
    expect(metadata).toEqual({ loss: "NaN", best: ["-Infinity", "NaN"] });
    expect(stderr).toContain("the metadata of e2#1 holds NaN or Infinity, which are not JSON numbers; stored as text");
  });

  test("sends lines that look like answers has them counted in what people read, and when it is shown again", async () => {
    const words = ["experiment", "bad.py", "--dataset", "examples.jsonl", "--executor", "python3", "--name", "x"];
    const end = await room.run(words, { env: { BAD: "show-ok" } });
    expect(end.code, end.stderr).toBe(0);
    expect(end.stdout).toContain("protocol problems: 1 unconfirmed");
    const shown = await room.run(["show", "x"]);
    expect(shown.stdout).toContain("protocol problems: 1 unconfirmed");
    expect(JSON.parse((await room.run(["show", "x", "--json"])).stdout)).toMatchObject({
      run: { details: { protocol_problems: { unconfirmed: 1 } } },
    });
  });

  test.each([
    ["discover-dies", "it ended with exit code 7"],
    ["discover-error", "SyntaxError: line 3"],
    ["discover-nan", "the params of its answer to discover holds NaN or Infinity"],
  ])("cannot be used (%s) is told before anything is kept", async (bad, reason) => {
    const { code, stderr, runs } = await misbehave(bad);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
    expect(runs).toEqual([]);
  });
});
