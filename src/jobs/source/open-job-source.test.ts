import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import type { Run } from "../../store/run.ts";
import type { RunSource } from "../../store/run-source.ts";
import { giveReward } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, startJob } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { makeGate, until } from "../testing/until.ts";
import { openJobSource } from "./open-job-source.ts";

const all = { page: { after: null, limit: 100 } };
const firstPage = { after: null, limit: 100 };

function openSource(root: string, roots: readonly string[] = ["jobs"]): RunSource {
  return openJobSource({ roots, host: { ...readHost(process), cwd: root }, clock: systemClock });
}

async function listAll(source: RunSource): Promise<readonly Run[]> {
  return (await source.list({}, firstPage)).entries;
}

describe("a finished job", () => {
  test("is listed as its last event described it", async () => {
    const { root, events } = await runJobOnRig({ tasks: { one: {}, two: {} } });
    const finished = events.find((event) => event.type === "run_finished");
    expect(await listAll(openSource(root))).toEqual([finished?.run]);
  });

  test("reads the same from its journal as from run.json", async () => {
    const { root, run } = await runJobOnRig({
      tasks: { one: {}, two: {} },
      config: { n_attempts: 2 },
      script: { test: (call) => giveReward(call.key.includes("two") ? "0\n" : "1\n")(call) },
    });
    const [listed] = await listAll(openSource(root));
    expect(await openSource(root).get("run-1")).toEqual(listed);
    rmSync(join(run.dir, ".rollout", "run.json"));
    expect(await listAll(openSource(root))).toEqual([listed]);
    writeFileSync(join(run.dir, ".rollout", "run.json"), '{"id":"run-1"}');
    expect(await listAll(openSource(root))).toEqual([listed]);
  });

  test("returns the units that its events had", async () => {
    const { root, events } = await runJobOnRig({
      tasks: { one: {}, two: {} },
      script: { execute: ({ key }) => (key.includes("two") ? 1 : 0) },
    });
    const source = openSource(root);
    const finished = events.filter((event) => event.type === "unit_finished").map(({ unit }) => unit);
    const { entries } = await source.units("run-1", all);
    expect(entries).toHaveLength(2);
    for (const unit of entries) {
      const { artifacts, ...rest } = unit;
      const { artifacts: earlier, ...expected } = finished.find(({ key }) => key === unit.key) ?? unit;
      expect(rest).toEqual(expected);
      expect(artifacts.map(({ name }) => name)).toEqual([...earlier.map(({ name }) => name), "instruction.md"]);
      expect(await source.unit("run-1", unit.key)).toEqual(unit);
    }
  });

  test("has rows without texts", async () => {
    const { root } = await runJobOnRig({
      tasks: { one: {}, two: {} },
      script: { execute: ({ key }) => (key.includes("two") ? 1 : 0) },
    });
    const { entries } = await openSource(root).rows("run-1", all);
    expect(entries.map(({ key, status, scores }) => [key, status, scores[0]?.value])).toEqual([
      ["a/set/one__1", "completed", 1],
      ["a/set/two__1", "failed", null],
    ]);
    expect(entries[1]?.failure).toMatchObject({ type: "agent_execution_failed", cause: "agent" });
    expect(entries.every((row) => !("warnings" in row) && !("details" in row))).toBe(true);
    expect(entries[0]?.artifactCount).toBeGreaterThan(0);
  });

  test("sorts, filters and pages its rows", async () => {
    const { root } = await runJobOnRig({ tasks: { a: {}, b: {}, c: {} } });
    const source = openSource(root);
    const first = await source.rows("run-1", {
      sort: { by: "key", isDescending: true },
      page: { after: null, limit: 2 },
    });
    expect(first.entries.map(({ labels }) => labels["task"])).toEqual(["c", "b"]);
    const rest = await source.rows("run-1", {
      sort: { by: "key", isDescending: true },
      page: { after: first.next, limit: 2 },
    });
    expect(rest.entries.map(({ labels }) => labels["task"])).toEqual(["a"]);
    expect(rest.next).toBeNull();
  });
});

describe("finding jobs", () => {
  test("accepts a job directory as a root and shows paths as a person would type them", async () => {
    const { root, run } = await runJobOnRig();
    expect(await listAll(openSource(root, [run.dir]))).toMatchObject([{ location: "jobs/job" }]);
    expect(await listAll(openSource(run.dir, ["."]))).toMatchObject([{ location: "." }]);
    expect(await listAll(openSource("/elsewhere", [join(root, "jobs")]))).toMatchObject([{ location: run.dir }]);
  });

  test("lists a copied job once and keeps the id of a moved one", async () => {
    const { root, run } = await runJobOnRig();
    const source = openSource(root, ["jobs", "jobs"]);
    cpSync(run.dir, join(root, "jobs", "copy"), { recursive: true });
    expect(await listAll(source)).toMatchObject([{ id: "run-1", location: "jobs/copy" }]);
    renameSync(join(root, "jobs", "copy"), join(root, "jobs", "zzz"));
    renameSync(run.dir, join(root, "jobs", "moved"));
    expect(await source.get("run-1")).toMatchObject({ id: "run-1", location: "jobs/moved" });
  });

  test("ignores everything that is not a job", async () => {
    const root = makeRoot();
    mkdirSync(join(root, "jobs", "empty", ".rollout"), { recursive: true });
    mkdirSync(join(root, "jobs", "garbage", ".rollout"), { recursive: true });
    writeFileSync(join(root, "jobs", "garbage", ".rollout", "journal.jsonl"), "garbage\n{}\nnull\n");
    writeFileSync(join(root, "jobs", "file"), "");
    expect(await listAll(openSource(root, ["jobs", "missing"]))).toEqual([]);
  });

  test("rejects calls for an unknown run", async () => {
    const source = openSource(makeRoot());
    expect(await source.get("nothing")).toBeNull();
    await expect(source.rows("nothing", all)).rejects.toMatchObject({ code: "not_found" });
    await expect(source.artifacts("nothing", "key")).rejects.toMatchObject({ code: "not_found" });
    const following = source.follow("nothing", null, new AbortController().signal)[Symbol.asyncIterator]();
    await expect(following.next()).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("a job that has not ended", () => {
  test("is running, and its counts are exact", async () => {
    const gate = makeGate();
    const job = startJob({
      tasks: { one: {}, two: {} },
      config: { n_concurrent_trials: 1 },
      script: { execute: ({ key }) => (key.includes("two") ? gate.passed.then(() => 0) : 0) },
    });
    const source = openSource(job.root);
    await until(() => existsSync(join(job.jobDir, "a/set/one__1/result.json")) && hasStarted(job.jobDir, "two"));
    expect(await listAll(source)).toMatchObject([{ status: "running", owner: { pid: process.pid } }]);
    expect(await source.get("run-1")).toMatchObject({ status: "running", counts: { finished: 1 }, endedAt: null });
    writeFileSync(join(job.jobDir, ".rollout", "pause"), "");
    expect(await source.get("run-1")).toMatchObject({ status: "paused" });
    expect(await listAll(source)).toMatchObject([{ status: "paused" }]);
    gate.open();
    await job.finished;
    expect(await source.get("run-1")).toMatchObject({ status: "completed", counts: { finished: 2 }, owner: null });
  });

  test("is interrupted if its process is dead", async () => {
    const { root, run } = await runJobOnRig({ tasks: { one: {}, two: {} } });
    killAt(run.dir, "trial_torn_down");
    const source = openSource(root);
    expect(await source.get("run-1")).toMatchObject({ status: "interrupted", owner: null, isResumable: true });
    const text = readFileSync(join(run.dir, ".rollout", "run.json"), "utf8");
    writeFileSync(join(run.dir, ".rollout", "run.json"), text.replace('"status": "completed"', '"status": "running"'));
    expect(await listAll(source)).toMatchObject([{ status: "interrupted", owner: null }]);
    // A process with the same id, of an earlier boot.
    claim(run.dir, { pid: process.pid, bootId: "earlier", hostname: readHost(process).hostname, startTicks: 1 });
    expect(await listAll(source)).toMatchObject([{ status: "interrupted", owner: null }]);
    // A process of another machine that wrote something lately.
    claim(run.dir, { pid: 1, bootId: "other", hostname: "elsewhere", startTicks: 1 });
    expect(await listAll(source)).toMatchObject([{ status: "running", owner: { pid: 1, hostname: "elsewhere" } }]);
  });

  test("keeps the results of earlier sessions", async () => {
    const root = makeRoot();
    const script = { execute: ({ key }: { key: string }) => (key.includes("two") ? 1 : 0) };
    await runJobOnRig({ root, tasks: { one: {}, two: {} }, script });
    const source = openSource(root);
    expect(await source.get("run-1")).toMatchObject({ counts: { completed: 1, failed: 1 } });
    await runJobOnRig({ root, tasks: { one: {}, two: {} }, resume: { retryFailed: "all" } });
    const run = await source.get("run-1");
    expect(run).toMatchObject({ counts: { completed: 2, failed: 0 } });
    expect(run?.sessions).toHaveLength(2);
    expect(await source.get("run-1")).toEqual((await listAll(source))[0]);
    expect((await source.unit("run-1", "a/set/two__1"))?.tries).toBe(2);
  });
});

test("continues after a half-written line and starts over with a replaced journal", async () => {
  const { root, run } = await runJobOnRig({ tasks: { one: {}, two: {} } });
  const journal = join(run.dir, ".rollout", "journal.jsonl");
  const text = readFileSync(journal, "utf8");
  rmSync(join(run.dir, ".rollout", "run.json"));
  const source = openSource(root);
  const countAt = async (length: number): Promise<number | undefined> => {
    writeFileSync(journal, text.slice(0, length));
    return (await source.get("run-1"))?.counts.finished;
  };
  const cut = text.lastIndexOf('"trial_finished"') + 100;
  expect(await countAt(cut)).toBe(1);
  expect(await countAt(cut + 50)).toBe(1);
  expect(await countAt(text.length)).toBe(2);
  expect(await countAt(text.indexOf('"trial_finished"') + 10)).toBe(0);
  writeFileSync(journal, text.replaceAll('"run-1"', '"run-2"'));
  expect(await source.get("run-2")).toMatchObject({ id: "run-2", counts: { finished: 2 } });
  writeFileSync(journal, text.replaceAll("\n", '\ngarbage\n{"type":"trial_finished","index":0}\n[]\n'));
  expect(await source.get("run-1")).toMatchObject({ id: "run-1", counts: { finished: 2 } });
  expect(await source.unit("run-1", onlyTrial)).toMatchObject({ key: onlyTrial });
});

function hasStarted(jobDir: string, task: string): boolean {
  const log = join(jobDir, ".rollout", "log.jsonl");
  return existsSync(log) && readFileSync(log, "utf8").includes(`a/set/${task}__1`);
}

/** Cuts the journal after the first line of a type, as a killed process would leave it. */
function killAt(dir: string, type: string): void {
  const journal = join(dir, ".rollout", "journal.jsonl");
  const lines = readFileSync(journal, "utf8").split("\n");
  const end = lines.findIndex((line) => line.includes(`"type":"${type}"`));
  writeFileSync(journal, `${lines.slice(0, end + 1).join("\n")}\n`);
}

function claim(dir: string, owner: object): void {
  mkdirSync(join(dir, ".rollout", "lock"), { recursive: true });
  writeFileSync(join(dir, ".rollout", "lock", "owner.json"), JSON.stringify({ ...owner, token: "01234567" }));
}
