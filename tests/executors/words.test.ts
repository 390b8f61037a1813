import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, type TestContext } from "vitest";
import { cannotRun, root } from "../e2e/rollout-cli.ts";

const script = join(root, "examples/executors/words.sh");
const limit = { timeout: 120_000 };

/** What the Bash example answers to some commands. */
async function talk(
  commands: readonly object[],
  text = readFileSync(script, "utf8"),
): Promise<{ lines: string[]; stderr: string; code: number | null }> {
  const child = spawn("bash", ["-c", text], { stdio: "pipe" });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (some: string) => (stdout += some));
  child.stderr.setEncoding("utf8").on("data", (some: string) => (stderr += some));
  // A pipe that nobody reads is soon full: long answers are written in pieces then.
  child.stdout.pause();
  setTimeout(() => child.stdout.resume(), 1000);
  child.stdin.end(commands.map((command) => `${JSON.stringify(command)}\n`).join(""));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { lines: stdout.trim().split("\n"), stderr, code };
}

function evaluation(more: object): object {
  return { cmd: "run_eval", evaluators: ["exact", "close"], ...more };
}

describe("the Bash example keeps the rules of its guide", () => {
  test("an evaluation that fails is an answer with its run_id and evaluator", limit, async (context) => {
    needJq(context);
    const input = { example: { id: "e" }, actual_output: "x", expected_output: 3 };
    const { lines, code } = await talk([evaluation({ input })]);
    expect(code).toBe(0);
    const answers = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(answers).toMatchObject([
      { run_id: "e", evaluator: "exact", score: 0, error: null },
      { run_id: "e", evaluator: "close", score: null, error: expect.stringContaining("cannot be subtracted") },
    ]);
  });

  test(
    "a program that fails itself costs an answer for each evaluator, and nothing that it prints is an answer",
    limit,
    async (context) => {
      needJq(context);
      // Only what the evaluators are computed with: everything else must go on.
      const text = readFileSync(script, "utf8").replace(/^run_eval\(\) \{$/m, "run_eval() {\n  echo oops; return 3");
      const { lines } = await talk([evaluation({ input: { example: { id: "e", run_id: "e#1" } } })], text);
      const answers = lines.map((line) => JSON.parse(line) as object);
      expect(answers).toMatchObject([
        { run_id: "e#1", evaluator: "exact", error: expect.any(String) },
        { run_id: "e#1", evaluator: "close", error: expect.any(String) },
      ]);
    },
  );

  test("long answers of many runs at once are not torn", limit, async (context) => {
    needJq(context);
    // Longer than what a pipe takes in one piece.
    const ids = Array.from({ length: 10 }, (_, n) => `${n}-${"x".repeat(200_000)}`);
    const tasks = ids.map((id) => ({ cmd: "run_task", input: { id, run_id: `${id}#1`, input: "a b" } }));
    const { lines } = await talk([...tasks, { cmd: "shutdown" }]);
    const answers = lines.map((line) => JSON.parse(line) as { run_id?: string; ok?: boolean });
    expect(answers.at(-1)).toEqual({ ok: true });
    const answered = answers.slice(0, -1).map((answer) => answer.run_id ?? "");
    expect(new Set(answered)).toEqual(new Set(ids.map((id) => `${id}#1`)));
  });
});

function needJq(context: TestContext): void {
  if (spawnSync("jq", ["--version"]).status !== 0) cannotRun(context, "there is no jq here");
}
