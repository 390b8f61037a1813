import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test, type TestContext } from "vitest";
import { ruleNames } from "../../src/experiments/check/check-executor.ts";
import { pythonVersion } from "../sdk/find-python.ts";
import { cannotRun, makeRoom, type Ended, type Room } from "../e2e/rollout-cli.ts";

interface CheckJson {
  readonly exit_code: number;
  readonly rules: readonly {
    readonly rule: string;
    readonly verdict: "pass" | "fail" | "not_offered" | "not_checked";
    readonly why: string | null;
    readonly transcript: readonly string[];
  }[];
}

const oddExecutor = join(import.meta.dirname, "odd-executor.mjs");
const examples = join(import.meta.dirname, "../../examples/executors");
// Each rule starts a process; on a busy machine that takes its time.
const patience = { patienceMs: 300_000 };
const limit = { timeout: 400_000 };

function read({ code, stdout, stderr }: Ended): CheckJson {
  expect(stdout, stderr).not.toBe("");
  const found = JSON.parse(stdout) as CheckJson;
  expect(found.exit_code).toBe(code);
  return found;
}

function verdicts({ rules }: CheckJson, kind: string): string[] {
  return rules.filter(({ verdict }) => verdict === kind).map(({ rule }) => rule);
}

async function check(room: Room, words: readonly string[], env = {}): Promise<CheckJson> {
  return read(await room.run(["executor", "check", "--json", ...words], { env, ...patience }));
}

describe("an executor that keeps every rule", () => {
  const inputs = ["--input", "3", "--expected", "6", "--bad-input", '"bad"', "--slow-input", "100"];

  test("by hand", limit, async () => {
    const found = await check(await makeRoom(), [...inputs, "--", process.execPath, oddExecutor]);
    expect(found.rules.filter(({ verdict }) => verdict !== "pass")).toEqual([]);
    expect(found.rules.map(({ rule }) => rule)).toEqual(ruleNames);
    expect(found.exit_code).toBe(0);
  });

  test("of the TypeScript SDK", limit, async () => {
    const room = await makeRoom();
    await room.write("double.ts", typescript);
    const found = await check(room, [...inputs, "double.ts"]);
    expect(found.rules.filter(({ verdict }) => verdict !== "pass")).toEqual([]);
  });

  test("of the Python SDK", limit, async (context) => {
    if (pythonVersion() === null) cannotRun(context, "there is no python3 >= 3.10 here");
    const room = await makeRoom();
    await room.write("double.py", python);
    const found = await check(room, [...inputs, "double.py"]);
    expect(found.rules.filter(({ verdict }) => verdict !== "pass")).toEqual([]);
  });

  test("in Go", limit, async (context) => {
    needGo(context);
    const room = await makeRoom();
    buildGo(room.path("words"));
    const found = await check(room, [...wordInputs, "--", room.path("words")]);
    expect(verdicts(found, "fail")).toEqual([]);
    expect(verdicts(found, "not_offered")).toEqual(["log", "aggregate"]);
    expect(verdicts(found, "not_checked")).toEqual(["concurrent"]);
  });

  test("in Bash", limit, async (context) => {
    needJq(context);
    const found = await check(await makeRoom(), [...wordInputs, "--", "bash", join(examples, "words.sh")]);
    expect(verdicts(found, "fail")).toEqual([]);
    expect(verdicts(found, "not_offered")).toEqual([
      "negotiation",
      "ids",
      "ids-error",
      "cancel",
      "log",
      "heartbeat",
      "aggregate",
      "unknown-capability",
    ]);
  });

  test("of cat-experiments", limit, async (context) => {
    if (spawnSync("sh", ["-c", "command -v cat-experiments-executor"]).status !== 0)
      cannotRun(context, "cat-experiments is not installed");
    const room = await makeRoom();
    await room.write("double.py", cat);
    const found = await check(room, [
      "--input",
      '{"n": 3}',
      "--expected",
      '{"n": 6}',
      "--",
      "cat-experiments-executor",
      "double.py",
    ]);
    // A line that is JSON and no object ends it.
    expect(verdicts(found, "fail")).toEqual(["invalid-line"]);
    expect(verdicts(found, "pass")).toContain("shutdown-waits");
  });
});

describe("the examples run in an experiment", () => {
  test.for(["Go", "Bash"])("in %s", limit, async (language, context) => {
    const room = await makeRoom();
    if (language === "Go") needGo(context);
    else needJq(context);
    if (language === "Go") buildGo(room.path("words"));
    const executor = language === "Go" ? room.path("words") : `bash ${join(examples, "words.sh")}`;
    const dataset = join(examples, "examples.jsonl");
    const end = await room.run(
      ["experiment", dataset, "--dataset", dataset, "--executor", executor, "--json"],
      patience,
    );
    expect(end.code, end.stderr).toBe(0);
    expect(JSON.parse(end.stdout)).toMatchObject({ successful_runs: 4, average_scores: { exact: 0.75, close: 1 } });
  });
});

/** What is said of an executor that breaks a rule and keeps the others. */
const reasons: Readonly<Record<string, RegExp>> = {
  discover: /discover-answer\.schema\.json says: protocol_version/,
  names: /evaluators 1 and 3 are both named "right"/,
  init: /init was refused: not today/,
  task: /the answer to the task task#1 exceeded its limit/,
  "task-error": /the answer has no error/,
  several: /answers that nobody asked for/,
  concurrent: /the slow task was answered before quick-0#1, quick-1#1, quick-2#1/,
  "run-id": /the answer to the task a#b [^]* exceeded its limit/,
  "long-line": /the answer to the task long#1 exceeded its limit/,
  pieces: /the answer to the task pieces#1 exceeded its limit/,
  evaluators: /eval-answer\.schema\.json says: score/,
  "all-evaluators": /the answer of the evaluator "small" to all#1 exceeded its limit/,
  "unknown-evaluator": /an answer with an error exceeded its limit/,
  "unknown-command": /an answer with an error exceeded its limit/,
  "no-input": /an answer with an error exceeded its limit/,
  "invalid-line": /did not come: it ended with exit code 1/,
  shutdown: /the answer to shutdown exceeded its limit/,
  "shutdown-waits": /tasks without an answer when shutdown is answered/,
  "end-of-input": /the end of the executor exceeded its limit/,
  negotiation: /messages that were not agreed on/,
  ids: /the answer to the task has another id/,
  "ids-error": /the answer has another id/,
  cancel: /answers that nobody asked for/,
  log: /a log message is about other#1/,
  heartbeat: /a first heartbeat exceeded its limit/,
  aggregate: /the answer of the aggregate "count" exceeded its limit/,
  "unknown-capability": /claims to understand what nobody knows/,
  lines: /NaN is no JSON/,
};

test("every rule is seen to be broken", () => {
  expect(Object.keys(reasons)).toEqual(ruleNames);
});

test.each(Object.entries(reasons))("an executor that breaks the rule %s is told why", limit, async (rule, why) => {
  const room = await makeRoom();
  const inputs = ["--input", "3", "--expected", "6", "--bad-input", '"bad"', "--slow-input", "100"];
  const words = [...inputs, "--timeout", "5", "--rule", rule];
  const found = await check(room, [...words, "--", process.execPath, oddExecutor], { ODD: rule });
  const broken = found.rules.find((one) => one.rule === rule);
  expect(broken).toMatchObject({ verdict: "fail", why: expect.stringMatching(why) as string });
  expect(broken?.transcript.length).toBeGreaterThan(0);
  expect(found.exit_code).toBe(1);
});

test("for people there is a line for each rule, and the talk of one that failed", async () => {
  const words = ["executor", "check", "--rule", "init", "--rule", "discover", "--", process.execPath, oddExecutor];
  const { code, stdout } = await (await makeRoom()).run(words, { env: { ODD: "init" } });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ok {11}discover {11}/);
  expect(stdout).toContain("init was refused: not today");
  expect(stdout).toContain(
    '-> {"cmd":"init","max_workers":4,"params":{"factor":2}}\n               <- {"ok":false,"error":"not today"}',
  );
  expect(stdout).toContain("1 ok, 1 failed, 0 not offered, 0 not checked");
});

test("a rule that nobody said how to provoke is not checked, which is not the same as not offered", limit, async () => {
  const words = ["--input", "3", "--rule", "task-error", "--rule", "concurrent", "--", process.execPath, oddExecutor];
  const { rules } = await check(await makeRoom(), words);
  expect(rules.map(({ verdict }) => verdict)).toEqual(["not_checked", "not_checked"]);
});

test("what cannot be started, a file that is not there and a wrong word are told before", async () => {
  const room = await makeRoom();
  const ends = await Promise.all([
    room.run(["executor", "check", "--", "no-such-program"]),
    room.run(["executor", "check", "--", "./no/such", "--flag"]),
    room.run(["executor", "check", "nosuch.py"]),
  ]);
  expect(ends.map(({ code }) => code)).toEqual([2, 2, 2]);
  expect(ends[0].stderr).toContain("no-such-program cannot be started: there is no such program");
  expect(ends[1].stderr).toContain("./no/such cannot be started: there is no such program");
  expect(ends[2].stderr).toContain("nosuch.py does not exist");
  const unknown = await room.run(["executor", "check", "--rule", "discovre", "--", "true"]);
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain('discovre: unknown rule; did you mean "discover"?');
  expect((await room.run(["executor", "check", "--input", "{", "--", "true"])).code).toBe(2);
});

test.each(["discover", "init"])("the error in the answer to discover is told by the rule %s", limit, async (rule) => {
  const words = ["--rule", rule, "--", process.execPath, oddExecutor];
  const { rules } = await check(await makeRoom(), words, { ODD: "discover-error" });
  expect(rules.map(({ why }) => why)).toEqual(["discover was answered with an error: the task is missing"]);
});

test.each([
  ["evaluators", "eval-null", /"right" to eval#1 exceeded .*; an answer came with run_id null, not eval#1$/],
  ["evaluators", "eval-name", /"right" to eval#1 exceeded .*; an answer came with evaluator Right, not right$/],
  ["task", "task", /task task#1 exceeded .*; an answer came without run_id, not task#1$/],
])("an answer of another run is told when none of this one came: %s, %s", limit, async (rule, odd, why) => {
  const words = ["--input", "3", "--expected", "6", "--timeout", "5", "--rule", rule];
  const { rules } = await check(await makeRoom(), [...words, "--", process.execPath, oddExecutor], { ODD: odd });
  expect(rules[0]?.why).toMatch(why);
});

const wordInputs = ["--input", '"three small words"', "--expected", "3", "--bad-input", "7"];

function needGo(context: TestContext): void {
  if (spawnSync("go", ["version"]).status !== 0) cannotRun(context, "there is no Go here");
}

function needJq(context: TestContext): void {
  if (spawnSync("jq", ["--version"]).status !== 0) cannotRun(context, "there is no jq here");
}

function buildGo(target: string): void {
  const { status, stderr } = spawnSync("go", ["build", "-o", target, "words.go"], {
    cwd: examples,
    encoding: "utf8",
    env: { ...process.env, GOFLAGS: "-mod=mod", GO111MODULE: "off" },
  });
  expect(status, stderr).toBe(0);
}

const typescript = `
import { defineExperiment } from "rollout-eval/experiments";
export default defineExperiment({
  params: { factor: 2 },
  task: async (input: number, { params }) => {
    console.log("hello");
    if (input === 100) await new Promise((resolve) => setTimeout(resolve, 2000));
    if (typeof input !== "number") throw new Error("no number");
    return params.factor * input;
  },
  evaluators: { right: ({ output, expected }) => (output === expected ? 1 : 0), small: ({ output }) => (Number(output) < 10 ? 1 : 0) },
  aggregates: { worst: async ({ results }) => Math.min(...(await results.scores("right"))) },
});
`;

const python = `
import time
from rollout_eval import aggregate, evaluator, experiment, task
experiment(params={"factor": 2})
@task
def double(input, params):
    print("hello")
    if input == 100: time.sleep(2)
    return params["factor"] * int(input)
@evaluator
def right(output, expected): return output == expected
@evaluator
async def small(output): return output < 10
@aggregate
def worst(results): return min(results.scores("right"))
`;

const cat = `
from cat.experiments import task, evaluator
@task
async def double(input): return {"n": 2 * input.input["n"]}
@evaluator
def right(input): return 1.0 if input.actual_output == input.expected_output else 0.0
`;
