import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { describe, expect, test } from "vitest";
import { openLocalRig } from "./local-rig.ts";
import { command, onTerminal, root, type Room } from "./rollout-cli.ts";

const rig = await openLocalRig();

interface RunJson {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly location: string;
}

interface UnitJson {
  readonly key: string;
  readonly status: string;
}

const tests = `
if grep -qs hello answer.txt; then
  echo 1 > /logs/verifier/reward.txt
else
  echo "FAILED test_answer.py::test_hello - AssertionError"
  echo 0 > /logs/verifier/reward.txt
fi`;

const doubleEval = `
  export default {
    name: "double",
    data: [
      { id: "a", input: 1, expectedOutput: 2 },
      { id: "b", input: 2, expectedOutput: 5 },
    ],
    target: (n: number) => 2 * n,
    scorers: [function right({ output, groundTruth }) { return output === groundTruth ? 1 : 0; }],
  };`;

const formulaExperiment = `
  import { defineExperiment } from "rollout-eval/experiments";
  export default defineExperiment({
    name: "formula",
    task: (n: number) => "=" + n,
    evaluators: { right: ({ output, expected }) => (output === expected ? 1 : 0) },
  });`;

/** Makes a directory with two evals, a job, an experiment in the store and one in a directory, in this order. */
async function makeRuns(): Promise<Room> {
  const task = { instruction: "Write hello to answer.txt.", test: tests };
  const room = await rig.makeRoom(
    { alpha: task, beta: task },
    {
      name: "nightly",
      agents: [
        { name: "good", execute: "echo hello > answer.txt" },
        { name: "bad", execute: "echo nothing > answer.txt" },
      ],
    },
  );
  await room.write("double.eval.ts", doubleEval);
  await room.write("formula.ts", formulaExperiment);
  await room.write(
    "examples.jsonl",
    '{"id":"e0","input":0,"output":"=0"}\n{"id":"e1","input":1,"output":"=2"}\n{"id":"e2","input":2,"output":"=2"}\n',
  );
  const experiment = ["experiment", "formula.ts", "--dataset", "examples.jsonl"];
  for (const words of [
    ["eval", "double.eval.ts", "--limit", "1"],
    ["eval", "double.eval.ts"],
    ["job.yaml", "--tag", "branch=main", "--tag", "who=ci", "--description", "before the change"],
    [...experiment, "--name", "stored", "--tag", "branch=main"],
    [...experiment, "--name", "filed", "--output-dir", "experiments"],
  ]) {
    const { code, stdout, stderr } = await room.run([...words, "--quiet"]);
    expect({ code, stdout, stderr }, words.join(" ")).toEqual({ code: 0, stdout: "", stderr: "" });
  }
  return room;
}

async function ok(room: Room, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await room.run(words);
  expect(code, `${words.join(" ")}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

async function refuse(room: Room, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await room.run(words);
  expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
  return stderr;
}

async function list(room: Room, ...words: string[]): Promise<readonly RunJson[]> {
  const { runs } = JSON.parse(await ok(room, "list", "--json", ...words)) as { runs: readonly RunJson[] };
  return runs;
}

async function names(room: Room, ...words: string[]): Promise<string[]> {
  return (await list(room, ...words)).map(({ name }) => name);
}

async function show(room: Room, ...words: string[]): Promise<{ readonly run: RunJson; readonly units: UnitJson[] }> {
  return JSON.parse(await ok(room, "show", ...words, "--json")) as { run: RunJson; units: UnitJson[] };
}

async function schema(name: string): Promise<ValidateFunction> {
  const text = await readFile(join(root, "schemas", `${name}.schema.json`), "utf8");
  return new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(text) as object);
}

describe("rollout list", () => {
  test("lists every run once, newest first, wherever it is", async () => {
    const room = await makeRuns();
    const runs = await list(room);
    expect(runs.map(({ name, kind, status, location }) => [name, kind, status, location])).toEqual([
      ["filed", "experiment", "completed", "experiments/filed"],
      ["stored", "experiment", "completed", ".rollout/rollout.db"],
      ["nightly", "job", "completed", "jobs/nightly"],
      ["double", "dataset", "completed", ".rollout/rollout.db"],
      ["double", "dataset", "completed", ".rollout/rollout.db"],
    ]);
    const validate = await schema("run");
    for (const run of runs) expect(validate(run), JSON.stringify(validate.errors)).toBe(true);

    const text = await ok(room, "list");
    expect(text).toMatch(/^run +name +kind +status/);
    expect(text).toMatch(/nightly +job +completed .*0–100%, 2 agents/);
    expect(text).toContain(`next: rollout show ${runs[0]?.id.slice(0, 8)}`);
    // The job is in the store and in jobs/.
    expect(text.match(/nightly/g)).toHaveLength(1);
    expect((await list(room, "--store", ".rollout/rollout.db", "experiments")).map(({ name }) => name)).toContain(
      "nightly",
    );
  });

  test("selects runs by kind, status, tag, name, filter, number and directory", async () => {
    const room = await makeRuns();
    expect(await names(room, "--kind", "job")).toEqual(["nightly"]);
    expect(await names(room, "--kind", "experiment")).toEqual(["filed", "stored"]);
    expect(await names(room, "--status", "completed", "--kind", "dataset")).toEqual(["double", "double"]);
    expect(await names(room, "--status", "interrupted")).toEqual([]);
    expect(await names(room, "--tag", "branch=main")).toEqual(["stored", "nightly"]);
    expect(await names(room, "--tag", "branch=main", "--tag", "who=ci")).toEqual(["nightly"]);
    expect(await names(room, "--name", "double")).toEqual(["double", "double"]);
    expect(await names(room, "--filter", "tag.branch:main -kind:job")).toEqual(["stored"]);
    expect(await names(room, "--limit", "2")).toEqual(["filed", "stored"]);
    expect(await names(room, "jobs")).toEqual(["nightly"]);
    expect(await ok(room, "list", "--limit", "2")).toContain("older runs are not shown; --limit 4 shows more");
    expect(await ok(room, "list", "--kind", "job", "--name", "x")).toContain("no runs found in jobs, experiments,");
    expect(await refuse(room, "list", "--kind", "jobs")).toContain('did you mean "job"?');
    expect(await refuse(room, "list", "--status", "done")).toContain("one of running, paused, completed");
    expect(await refuse(room, "list", "--tag", "branch")).toContain("expected key=value");
    expect(await refuse(room, "list", "--filter", "knid:job")).toContain("known names: id, name, kind");
    expect(await refuse(room, "list", "nowhere")).toContain("nowhere does not exist");
  });

  test("marks a job whose directory is gone, and shows it from the store", async () => {
    const room = await makeRuns();
    const [job] = await list(room, "--kind", "job");
    await rm(room.path("jobs"), { recursive: true });
    expect(await ok(room, "list", "--kind", "job")).toContain("completed, files gone");
    const shown = await ok(room, "show", "nightly");
    expect(shown).toContain("4 trials · 2 passed · 2 not passed");
    expect(shown).toContain("jobs/nightly is gone");
    expect(shown).toMatch(/next +rollout show nightly --trial bad\/tasks\/alpha__1\n/);
    expect(await ok(room, "show", "nightly", "--trial", "bad/tasks/alpha__1")).toMatch(/^trial +bad\/tasks\/alpha__1/);
    expect((await show(room, "nightly")).units).toHaveLength(4);
    expect(await refuse(room, "logs", "nightly", "alpha")).toContain("the directory of nightly is gone");
    expect(await ok(room, "remove", job?.id ?? "", "--yes")).toBe("");
    expect(await names(room, "--kind", "job")).toEqual([]);
  });
});

describe("rollout show", () => {
  test("finds a run by id, by its first characters, by name, by directory and without a word", async () => {
    const room = await makeRuns();
    const runs = await list(room);
    const idOf = async (...words: string[]): Promise<string> => (await show(room, ...words)).run.id;
    for (const { id } of runs) {
      expect(await idOf(id)).toBe(id);
      expect(await idOf(id.slice(0, 8))).toBe(id);
    }
    const [filed, stored, nightly, second, first] = runs.map(({ id }) => id);
    expect(await idOf()).toBe(filed);
    expect(await idOf("filed")).toBe(filed);
    expect(await idOf("experiments/filed")).toBe(filed);
    expect(await idOf("filed", "--output-dir", "experiments")).toBe(filed);
    expect(await idOf("stored")).toBe(stored);
    expect(await idOf("nightly")).toBe(nightly);
    expect(await idOf("jobs/nightly")).toBe(nightly);
    expect(await idOf("double")).toBe(second);
    expect(await idOf("double~1")).toBe(first);
    expect(await refuse(room, "show", "double~2")).toContain('there are only 2 runs named "double"');
    expect(await refuse(room, "show", "nobody")).toMatch(/nobody does not exist, .*\n +newest runs: .*nightly/);
  });

  test("prints a summary, a matrix and a table of every kind of run", async () => {
    const room = await makeRuns();
    expect(await ok(room, "show", "nightly")).toContain("4 trials · 2 passed · 2 not passed");
    expect(await ok(room, "show", "double")).toContain("2 items · 1 passed · 1 not passed");
    expect(await ok(room, "show", "stored")).toContain("3 runs · 2 passed · 1 not passed");
    expect(await ok(room, "show", "filed")).toContain("3 runs · 2 passed · 1 not passed");

    expect(await ok(room, "show", "nightly", "--tasks")).toMatch(
      /^task +good +bad\nalpha +\. +x\nbeta +\. +x\n\. passed/,
    );
    expect(await ok(room, "show", "filed", "--tasks")).toMatch(/e0 +\.\ne1 +x\ne2 +\./);
    expect(await refuse(room, "show", "nightly", "--tasks", "--sort", "cost")).toContain("one of name, disagree");

    const failed = await ok(room, "show", "nightly", "--failed");
    expect(failed).toMatch(/bad\/tasks\/alpha__1[^]*bad\/tasks\/beta__1[^]*2 of 4 trials\nnext: rollout show/);
    expect(failed).not.toContain("good/");
    const keys = async (...words: string[]): Promise<string[]> =>
      (await show(room, ...words)).units.map(({ key }) => key);
    expect(await keys("nightly", "--filter", "agent:bad task:al*")).toEqual(["bad/tasks/alpha__1"]);
    expect(await keys("nightly", "--filter", "reward<1 -task:alpha")).toEqual(["bad/tasks/beta__1"]);
    expect(await keys("filed", "--filter", "right=0")).toEqual(["e1#1"]);
    expect((await keys("nightly", "--sort", "-key"))[0]).toBe("good/tasks/beta__1");
    expect((await keys("nightly", "--sort", "score"))[0]).toMatch(/^bad\//);
    expect(await refuse(room, "show", "nightly", "--filter", "agnet:bad")).toContain('names "agnet"');
    expect(await refuse(room, "show", "nightly", "--filter", "reward<x")).toContain("expected a number after <");
    expect(await refuse(room, "show", "nightly", "--sort", "prize")).toContain("one of index, key, status, score");
  });

  test("gives runs and units as JSON of their schemas", async () => {
    const room = await makeRuns();
    const [isRun, isUnit] = [await schema("run"), await schema("unit")];
    for (const name of ["nightly", "double", "stored", "filed"]) {
      const { run, units } = await show(room, name);
      expect(isRun(run), JSON.stringify(isRun.errors)).toBe(true);
      expect(units.length).toBeGreaterThan(1);
      for (const unit of units) expect(isUnit(unit), JSON.stringify(isUnit.errors)).toBe(true);
    }
    expect((await show(room, "nightly")).run).toMatchObject({
      description: "before the change",
      tags: { branch: "main", who: "ci" },
      git: null,
    });
    const isEvent = await schema("event");
    const { stdout } = await room.run(["job.yaml", "--name", "events", "--json=events"]);
    for (const line of stdout.trim().split("\n"))
      expect(isEvent(JSON.parse(line)), `${line}\n${JSON.stringify(isEvent.errors)}`).toBe(true);
  });

  test("prints one trial by key, by task and by directory", async () => {
    const room = await makeRuns();
    const shown = await ok(room, "show", "jobs/nightly/bad/tasks/alpha__1");
    expect(shown).toMatch(/^agent +bad\ntask +tasks\/alpha #1\nreward +0\.0\n/);
    expect(shown).toContain("\ninstruction\n  Write hello to answer.txt.\n");
    expect(shown).toMatch(/\nfiles\n[^]* +\d+ bytes {2}changes\.txt\n[^]*\d bytes {2}logs\/verifier\/reward\.txt\n/);
    expect(shown).toContain("\nfailed checks\n  FAILED test_answer.py::test_hello - AssertionError\n");
    expect(shown).toContain("\nlogs/verifier/stdout.txt\n");
    expect(await ok(room, "show", "nightly", "--trial", "bad/tasks/alpha__1")).toBe(shown);
    const attempts = await ok(room, "show", "nightly", "--trial", "alpha");
    expect(attempts).toMatch(/^trial +good\/tasks\/alpha__1\n[^]*\ntrial +bad\/tasks\/alpha__1\n/);
    const changes = await ok(room, "show", "nightly", "--trial", "bad/tasks/alpha__1", "--file", "changes.txt");
    expect(changes).toContain("+nothing\n");
    const directory = ["show", "jobs/nightly/bad/tasks/alpha__1"];
    expect(await refuse(room, ...directory, "--file", "change.txt")).toContain('did you mean "changes.txt"?');
    expect(await refuse(room, "show", "nightly", "--trial", "alhpa")).toContain('did you mean "alpha"?');
    expect(await ok(room, "logs", "nightly", "bad/tasks/alpha")).toContain("FAILED test_answer.py");
    expect(await ok(room, "show", "double", "--item", "b")).toMatch(/^item +b[^]*output +4\nexpected +5\n/);
    expect(await ok(room, "show", "filed", "--item", "e1")).toMatch(/^example +e1#1\n[^]*output +=1\n/);
  });
});

describe("rollout export", () => {
  test("writes one row for each unit, as CSV and as JSON lines", async () => {
    const room = await makeRuns();
    const csv = await ok(room, "export", "nightly", "--csv", "-");
    const [heading = "", ...rows] = csv.trimEnd().split("\r\n");
    expect(heading.split(",")).toEqual(expect.arrayContaining(["key", "status", "label.agent", "score.reward"]));
    expect(rows).toHaveLength(4);
    // A spreadsheet would run it.
    for (const name of ["stored", "filed"]) {
      const cells = (await ok(room, "export", name, "--csv", "-")).split("\r\n").flatMap((row) => row.split(","));
      expect(cells).toContain("'=1");
      expect(cells.filter((cell) => /^"?=/.test(cell))).toEqual([]);
    }
    const { stderr } = await room.run(["export", "filed", "--jsonl", "units.jsonl"]);
    expect(stderr).toBe("wrote 3 runs of filed to units.jsonl\n");
    const isUnit = await schema("unit");
    const units = (await room.read("units.jsonl")).trimEnd().split("\n");
    expect(units).toHaveLength(3);
    for (const line of units) expect(isUnit(JSON.parse(line)), JSON.stringify(isUnit.errors)).toBe(true);
    const some = await ok(room, "export", "nightly", "--jsonl", "-", "--filter", "agent:good", "--sort", "-key");
    expect(some.trimEnd().split("\n")).toHaveLength(2);
    expect(await refuse(room, "export", "nightly")).toContain("give one of --csv FILE and --jsonl FILE");
  });
});

describe("rollout remove", () => {
  test("removes directories and store entries, and needs --yes without a terminal", async () => {
    const room = await makeRuns();
    const unsure = await refuse(room, "remove", "nightly");
    expect(unsure).toContain("nightly  job, 4 trials, jobs/nightly");
    expect(unsure).toContain("add --yes to confirm");
    expect(existsSync(room.path("jobs/nightly"))).toBe(true);
    const { code, stderr } = await room.run(["remove", "jobs/nightly", "double~1", "filed", "--yes"]);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain("removed nightly\nremoved double\nremoved filed\n");
    expect(await names(room)).toEqual(["stored", "double"]);
    expect([existsSync(room.path("jobs/nightly")), existsSync(room.path("experiments/filed"))]).toEqual([false, false]);
    expect(await refuse(room, "remove", "nobody", "--yes")).toContain("nobody does not exist");
  });

  test("asks on a terminal", async (context) => {
    const room = await makeRuns();
    const answer = async (word: string): Promise<string> => {
      const { command: words = [], env } = onTerminal(context, ["remove", "stored"]);
      const typed = words.map((each) => `'${each.replaceAll("'", "'\\''")}'`).join(" ");
      return (await room.run([], { command: ["sh", "-c", `(sleep 2; echo ${word}) | ${typed}`], env })).stdout;
    };
    expect(await answer("n")).toMatch(/Remove this run and all results\? \[y\/N\][^]*nothing was removed/);
    expect(await names(room, "--name", "stored")).toEqual(["stored"]);
    expect(await answer("y")).toContain("removed stored");
    expect(await names(room, "--name", "stored")).toEqual([]);
  });

  test("refuses a run that is running", async () => {
    const room = await rig.makeRoom({ alpha: {} }, { agents: [{ name: "slow", execute: "echo begun; sleep 60" }] });
    const running = room.start(["job.yaml"]);
    await running.until("the agent has begun", async () =>
      (await room.read("jobs/job/slow/tasks/alpha__1/command/stdout.txt").catch(() => "")).includes("begun"),
    );
    const { code, stderr } = await room.run(["remove", "jobs/job", "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain(`job is running: process ${running.pid}`);
    expect((await list(room)).map(({ status }) => status)).toEqual(["running"]);
    running.kill("SIGINT");
    await running.ended;
    expect(existsSync(room.path("jobs/job/result.json"))).toBe(true);
  });

  test("removes the entry in the store and leaves another job that took the directory", async () => {
    const room = await makeRuns();
    const id = (await list(room, "--kind", "job"))[0]?.id ?? "";
    const journal = await room.read("jobs/nightly/.rollout/journal.jsonl");
    await rm(room.path("jobs/nightly"), { recursive: true });
    const other = "00000000-0000-4000-8000-000000000000";
    await room.write("jobs/nightly/.rollout/journal.jsonl", journal.replaceAll(id, other));
    expect((await list(room, "--kind", "job")).map((run) => run.id).toSorted()).toEqual([id, other].toSorted());
    await ok(room, "remove", id, "--yes");
    expect((await list(room, "--kind", "job")).map((run) => run.id)).toEqual([other]);
    expect(existsSync(room.path("jobs/nightly/.rollout/journal.jsonl"))).toBe(true);
  });

  test("finds the directory of a job when the store is read from another working directory", async () => {
    const room = await makeRuns();
    await room.write("other/file.txt", "");
    const start = ["sh", "-c", 'cd other && exec "$0" "$@"', ...command];
    const env = { ROLLOUT_STORE: room.path(".rollout/rollout.db") };
    const listed = await room.run(["list", "--kind", "job"], { command: start, env });
    expect(listed.stdout).not.toContain("files gone");
    const { code, stderr } = await room.run(["remove", "nightly", "--yes"], { command: start, env });
    expect(code, stderr).toBe(0);
    expect(existsSync(room.path("jobs/nightly"))).toBe(false);
  });
});

describe("a store that cannot be read", () => {
  test("is reported by list and by show, and the runs in directories are listed", async () => {
    const room = await rig.makeRoom({ alpha: {} });
    expect(await refuse(room, "show")).toContain("there are no runs in jobs, experiments, .rollout/rollout.db");
    await ok(room, "job.yaml", "--quiet");
    await room.write(".rollout/rollout.db", "not a database, but long enough to look like one ".repeat(200));
    const { code, stdout, stderr } = await room.run(["list", "--json"]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("is not an SQLite database") as string,
    });
    expect((JSON.parse(stdout) as { runs: unknown[] }).runs).toHaveLength(1);
    expect(await ok(room, "show", "job")).toContain("1 trial · 1 passed");
    expect(await refuse(room, "show", "nobody")).toContain("is not an SQLite database");
  });
});

describe("a store that cannot be written", () => {
  test.for([
    ["is not a database", "broken.db"],
    ["does not answer", "postgres://127.0.0.1:9/none"],
  ] as const)("that %s never fails a job and is reported once", async ([, store]) => {
    const room = await rig.makeRoom({ alpha: {} });
    await room.write("broken.db", "not a database, but long enough to look like one ".repeat(200));
    const { code, stdout, stderr } = await room.run(["job.yaml", "--store", store]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("1 trial · 1 passed");
    expect(stderr.match(/the job is not recorded in the store/g)).toHaveLength(1);
  });
});
