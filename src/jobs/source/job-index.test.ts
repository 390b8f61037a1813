import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { sampleFailedUnit, sampleUnit } from "../../store/conformance/sample-run.ts";
import type { Unit } from "../../store/run.ts";
import type { JournalLine } from "../output/job-journal.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { JobIndex } from "./job-index.ts";
import { openJobSource } from "./open-job-source.ts";
import { JobFiles, startedLine, toResult } from "./testing/job-files.ts";

const secretText = "a text that belongs to one trial only";

function finishedLine(unit: Unit): JournalLine {
  return { type: "trial_finished", index: unit.index, result: toResult(unit) };
}

/** Returns a unit with about 6 KB of texts and a value in every phase. */
function wordyUnit(index: number): Unit {
  const words = `${secretText} ${index} `.repeat(50);
  const phases = ["environment_setup", "agent_setup", "agent_execution", "verifier"].map((name, at) => ({
    name,
    durationSec: index + at + 0.123,
  }));
  const unit =
    index % 4 === 0 ? sampleFailedUnit(index, { message: `lost after ${index} s\n${words}` }) : sampleUnit(index);
  return { ...unit, phases, warnings: [words, words], untrusted: [words] };
}

function readHeapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

test("an index of 10,000 trials keeps no texts and takes about 1 KB for each", async () => {
  const count = 10_000;
  const dir = join(makeRoot(), "job");
  const files = JobFiles.create(dir, startedLine(count));
  for (let from = 0; from < count; from += 1000)
    files.append(Array.from({ length: 1000 }, (_, n) => finishedLine(wordyUnit(from + n))));
  const before = readHeapBytes();
  const index = new JobIndex(dir);
  expect(await index.refresh()).toBe(true);
  const bytes = readHeapBytes() - before;
  const rows = index.state.rows();
  expect(rows).toHaveLength(count);
  for (const row of rows) {
    const json = JSON.stringify(row);
    expect(json.length).toBeLessThan(1024);
    expect(json).not.toContain(secretText);
  }
  // Twice the target: other tests of the process may allocate meanwhile.
  expect(bytes / count).toBeLessThan(2048);
  const [unit] = await index.readUnits([...index.state.trials()].slice(-1));
  expect(unit).toMatchObject({ index: count - 1, warnings: wordyUnit(count - 1).warnings });
});

test("a session with another plan moves trials and hides those it does not contain", async () => {
  const dir = join(makeRoot(), "job");
  const files = JobFiles.create(dir, startedLine(3));
  files.append([0, 1, 2].map((n) => finishedLine(sampleUnit(n))));
  const index = new JobIndex(dir);
  await index.refresh();
  const tasks = [2, 0].map((n) => ({ dataset: "tasks", task: `task-${n}` }));
  files.append([startedLine(0, { session: 2, tasks })]);
  await index.refresh();
  const placesOf = (): unknown[] => index.state.rows().map((row) => [row.index, row.key, row.labels["task"]]);
  expect(placesOf()).toEqual([
    [0, "echo/tasks/task-2__1", "task-2"],
    [1, "echo/tasks/task-0__1", "task-0"],
  ]);
  expect(index.state.trial("echo/tasks/task-1__1")).toBeNull();
  files.append([startedLine(3, { session: 3 })]);
  await index.refresh();
  expect(placesOf()).toHaveLength(3);
});

test("labels follow the order of the plan: agents, tasks, attempts", async () => {
  const dir = join(makeRoot(), "job");
  JobFiles.create(dir, startedLine(2, { agents: ["a", "b"], n_attempts: 2 }));
  const index = new JobIndex(dir);
  await index.refresh();
  expect(index.state.labelsOf("b/tasks/task-1__2")).toEqual({
    agent: "b",
    dataset: "tasks",
    task: "task-1",
    attempt: "2",
  });
  expect(index.state.labelsOf("a/tasks/task-1__1")).toEqual({
    agent: "a",
    dataset: "tasks",
    task: "task-1",
    attempt: "1",
  });
  expect(index.state.labelsOf("a/tasks/task-1__3")).toBeNull();
});

test("a trial is changed by its removal only if that adds a warning or a failure", async () => {
  const dir = join(makeRoot(), "job");
  const files = JobFiles.create(dir, startedLine(2));
  files.append([0, 1].map((n) => finishedLine(sampleUnit(n))));
  const index = new JobIndex(dir);
  await index.refresh();
  const { offset } = index;
  const teardown = { duration_sec: 1, kept: [] };
  files.append([
    { type: "trial_torn_down", index: 0, error: null, warnings: [], teardown, artifact_count: 7 },
    { type: "trial_torn_down", index: 1, error: null, warnings: ["slow"], teardown, artifact_count: 7 },
  ]);
  await index.refresh();
  expect(index.state.changedAfter(offset).map(({ row }) => row.index)).toEqual([1]);
  expect(index.state.rows().map((row) => [row.artifactCount, row.warningCount])).toEqual([
    [7, 0],
    [7, 1],
  ]);
  expect(await index.readUnits([...index.state.trials()])).toMatchObject([{ warnings: [] }, { warnings: ["slow"] }]);
});

test("lines that are damaged or too large for the memory are skipped", async () => {
  const dir = join(makeRoot(), "job");
  const files = JobFiles.create(dir, startedLine(1));
  const result = toResult(sampleUnit(0));
  const damaged: readonly unknown[] = [
    { type: "trial_finished", index: 0, result: { ...result, timestamps: { started_at: "never", ended_at: "never" } } },
    { type: "trial_finished", index: 0, result: { ...result, error: { type: "x" } } },
    { type: "trial_torn_down", index: 0 },
    { type: "trial_reopened", index: 4_000_000_000 },
    { type: "trial_reopened", index: -1 },
    { ...startedLine(1), n_attempts: 1e15 },
    { type: "constructor" },
    { type: "__proto__" },
    [],
    "text",
    null,
  ];
  files.append(damaged as readonly JournalLine[]);
  files.append([finishedLine(sampleUnit(0))]);
  const index = new JobIndex(dir);
  expect(await index.refresh()).toBe(true);
  expect(index.state.rows()).toHaveLength(1);
  expect(index.state.started?.n_attempts).toBe(1);
});

test("a job whose files are FIFOs or links is ignored", async () => {
  const root = makeRoot();
  JobFiles.create(join(root, "good"), startedLine(1));
  for (const name of ["run.json", "journal.jsonl"]) {
    mkdirSync(join(root, `fifo ${name}`, ".rollout"), { recursive: true });
    execFileSync("mkfifo", [join(root, `fifo ${name}`, ".rollout", name)]);
  }
  mkdirSync(join(root, "directory", ".rollout", "run.json"), { recursive: true });
  writeFileSync(join(root, "directory", ".rollout", "journal.jsonl"), "");
  const source = openJobSource({ roots: [root], host: readHost(process), clock: systemClock });
  const { entries } = await source.list({}, { after: null, limit: 10 });
  expect(entries.map(({ location }) => location)).toEqual([join(root, "good")]);
});
