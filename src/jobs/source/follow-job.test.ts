import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock, type Clock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { FollowedEvent, RunSource } from "../../store/run-source.ts";
import { runJobOnRig, startJob, type RunningJob } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { makeGate, until } from "../testing/until.ts";
import { openJobSource } from "./open-job-source.ts";

const never = new AbortController().signal;
const twoTasks = { one: {}, two: {} };

function openSource(root: string, clock: Clock = systemClock): RunSource {
  return openJobSource({ roots: ["jobs"], host: { ...readHost(process), cwd: root }, clock });
}

async function collect(events: AsyncIterable<FollowedEvent>): Promise<FollowedEvent[]> {
  const found: FollowedEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** Returns the type of each event, with the task of its unit. */
function describeAll(events: readonly FollowedEvent[]): string[] {
  return events.map(({ event }) => {
    const key = "unit" in event ? event.unit.key : "key" in event ? event.key : undefined;
    const words = [event.type, key?.split(/[/_]/)[2], "phase" in event ? event.phase : undefined];
    return words.filter((word) => word !== undefined).join(" ");
  });
}

/** Starts a job whose second trial waits until the gate is opened. */
async function startWaitingJob(): Promise<{ readonly job: RunningJob; readonly open: () => Promise<void> }> {
  const gate = makeGate();
  const job = startJob({
    tasks: twoTasks,
    config: { n_concurrent_trials: 1 },
    script: { execute: ({ key }) => (key.includes("two") ? gate.passed.then(() => 0) : 0) },
  });
  const log = join(job.jobDir, ".rollout", "log.jsonl");
  const isWaiting = (): boolean =>
    existsSync(log) && /"key":"a\/set\/two__1","phase":"agent_execution"/.test(readFileSync(log, "utf8"));
  await until(isWaiting);
  return {
    job,
    async open() {
      gate.open();
      await job.finished;
    },
  };
}

test("yields the units of a finished job between its start and its end", async () => {
  const { root, events } = await runJobOnRig({ tasks: twoTasks, config: { n_concurrent_trials: 1 } });
  const source = openSource(root);
  const followed = await collect(source.follow("run-1", null, never));
  expect(describeAll(followed)).toEqual(["run_started", "unit_finished one", "unit_finished two", "run_finished"]);
  const finished = events.find((event) => event.type === "run_finished");
  expect(followed.at(-1)?.event).toMatchObject({ run: finished?.run, next: [] });
  const [, first] = followed;
  expect(first?.event).toMatchObject({ unit: await source.unit("run-1", "a/set/one__1") });
});

test("continues after every cursor, also with another source", async () => {
  const { root } = await runJobOnRig({ tasks: twoTasks, config: { n_concurrent_trials: 1 } });
  const followed = await collect(openSource(root).follow("run-1", null, never));
  for (const [at, { cursor }] of followed.entries()) {
    const rest = await collect(openSource(root).follow("run-1", cursor, never));
    const expected = at === followed.length - 1 ? followed.slice(-1) : followed.slice(at + 1);
    expect(rest).toEqual(expected);
  }
});

test("yields what a running job does, until it ends", async () => {
  const { job, open } = await startWaitingJob();
  const source = openSource(job.root);
  const found: FollowedEvent[] = [];
  const following = (async () => {
    for await (const event of source.follow("run-1", null, never)) found.push(event);
  })();
  await until(() => describeAll(found).includes("unit_finished one"));
  expect(describeAll(found)).toEqual([
    "run_started",
    "unit_started two",
    "unit_phase two environment_setup",
    "unit_phase two agent_execution",
    "unit_finished one",
  ]);
  expect(found[1]?.event).toMatchObject({ labels: { agent: "a", dataset: "set", task: "two", attempt: "1" } });
  await open();
  await following;
  expect(describeAll(found).slice(-2)).toEqual(["unit_finished two", "run_finished"]);
  expect(found.at(-1)?.event).toMatchObject({ run: { status: "completed", counts: { finished: 2 } } });
});

test("yields pausing and resuming", async () => {
  const { job, open } = await startWaitingJob();
  const found: FollowedEvent[] = [];
  const following = (async () => {
    for await (const event of openSource(job.root).follow("run-1", null, never)) found.push(event);
  })();
  const pauseFile = join(job.jobDir, ".rollout", "pause");
  writeFileSync(pauseFile, "");
  await until(() => describeAll(found).includes("run_paused"));
  rmSync(pauseFile);
  await until(() => describeAll(found).includes("run_continued"));
  await open();
  await following;
});

test("yields units of earlier sessions as restored", async () => {
  const root = makeRoot();
  const config = { n_concurrent_trials: 1 };
  const script = { execute: ({ key }: { key: string }) => (key.includes("one") ? 1 : 0) };
  await runJobOnRig({ root, tasks: twoTasks, config, script });
  const source = openSource(root);
  const before = await collect(source.follow("run-1", null, never));
  await runJobOnRig({ root, tasks: twoTasks, config, resume: { retryFailed: "all" } });
  expect(describeAll(await collect(source.follow("run-1", null, never)))).toEqual([
    "run_started",
    "unit_restored two",
    "unit_finished one",
    "run_finished",
  ]);
  const rest = source.follow("run-1", before.at(-1)?.cursor ?? null, never);
  expect(describeAll(await collect(rest))).toEqual(["unit_finished one", "run_finished"]);
});

test("ends with the last result of a job whose process died", async () => {
  const { root, run } = await runJobOnRig({ tasks: twoTasks, config: { n_concurrent_trials: 1 } });
  const journal = join(run.dir, ".rollout", "journal.jsonl");
  const lines = readFileSync(journal, "utf8").split("\n");
  const last = lines.findLastIndex((line) => line.startsWith('{"type":"trial_finished"'));
  writeFileSync(journal, `${lines.slice(0, last + 1).join("\n")}\n`);
  const followed = await collect(openSource(root).follow("run-1", null, never));
  expect(describeAll(followed)).toEqual(["run_started", "unit_finished one", "unit_finished two", "run_finished"]);
  expect(followed.at(-1)?.event).toMatchObject({ run: { status: "interrupted", owner: null } });
});

test("yields reset for a cursor that is not valid, and starts at the beginning after it", async () => {
  const { root, run } = await runJobOnRig();
  const source = openSource(root);
  const [started] = await collect(source.follow("run-1", null, never));
  const journal = join(run.dir, ".rollout", "journal.jsonl");
  for (const cursor of ["garbage", "W10", Buffer.from('["x",0,1,0]').toString("base64url")]) {
    const followed = await collect(source.follow("run-1", cursor, never));
    expect(describeAll(followed)).toEqual(["reset"]);
    expect(describeAll(await collect(source.follow("run-1", followed[0]?.cursor ?? null, never)))[0]).toBe(
      "run_started",
    );
  }
  // Another file with the same content.
  copyFileSync(journal, `${journal}.new`);
  renameSync(`${journal}.new`, journal);
  expect(describeAll(await collect(source.follow("run-1", started?.cursor ?? null, never)))).toEqual(["reset"]);
});

test("yields reset when the journal is removed", async () => {
  const { job, open } = await startWaitingJob();
  const following = openSource(job.root).follow("run-1", null, never)[Symbol.asyncIterator]();
  expect(describeAll([(await following.next()).value as FollowedEvent])).toEqual(["run_started"]);
  rmSync(join(job.jobDir, ".rollout", "journal.jsonl"));
  expect(describeAll([(await following.next()).value as FollowedEvent])).toEqual(["reset"]);
  expect((await following.next()).done).toBe(true);
  await open();
});

test("ends at once on abort and leaves no timer", async () => {
  const { job, open } = await startWaitingJob();
  const clock = new FakeClock();
  const stop = new AbortController();
  const following = collect(openSource(job.root, clock).follow("run-1", null, stop.signal));
  await until(() => clock.pendingTimers === 1);
  stop.abort();
  expect(describeAll(await following).at(-1)).toBe("unit_finished one");
  expect(clock.pendingTimers).toBe(0);
  expect(await collect(openSource(job.root).follow("run-1", null, stop.signal))).toEqual([]);
  await open();
});
