import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { noSecrets } from "../../base/redactor.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { sampleRun, sampleUnit } from "../../store/conformance/sample-run.ts";
import type { Run } from "../../store/run.ts";
import { hang, type Act } from "../testing/acts.ts";
import { startJob, type RunningJob } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { makeGate, until } from "../testing/until.ts";
import { jobPaths } from "./job-paths.ts";
import { JobRecorder } from "./job-recorder.ts";
import type { JobResultFile } from "./job-result-schema.ts";
import { JobTally } from "./job-tally.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

const resultOf = (job: RunningJob): JobResultFile =>
  JSON.parse(readFileSync(join(job.jobDir, "result.json"), "utf8")) as JobResultFile;
const hasResult = (job: RunningJob): boolean => existsSync(join(job.jobDir, "result.json"));

// A job whose trials end one by one, when the test lets them.
function startGated(clock: FakeClock, count: number) {
  const gates = Array.from({ length: count }, makeGate);
  const execute: Act = async ({ key }) => {
    await gates[Number(key.split("__")[1]) - 1]?.passed;
    return 0;
  };
  const job = startJob({ clock, config: { n_attempts: count, n_concurrent_trials: count }, script: { execute } });
  const counted = (): number => job.events.filter((event) => event.type === "unit_finished").length;
  const finish = async (n: number): Promise<void> => {
    gates[n - 1]?.open();
    await until(() => counted() === n);
  };
  return { job, finish };
}

test("R34: the job's result.json is replaced at most once a second, and at the end", async () => {
  const clock = new FakeClock();
  const { job, finish } = startGated(clock, 4);
  await finish(1);
  await clock.advance(999);
  expect(hasResult(job)).toBe(false);
  await finish(2);
  await clock.advance(1);
  await until(() => hasResult(job));
  expect(resultOf(job)).toMatchObject({ completed_trials: 2, ended_at: null, total_duration_sec: 1 });
  const { mtimeMs } = statSync(join(job.jobDir, "result.json"));
  await finish(3);
  await clock.advance(999);
  expect(statSync(join(job.jobDir, "result.json")).mtimeMs).toBe(mtimeMs);
  await clock.advance(1);
  await until(() => resultOf(job).completed_trials === 3);
  await finish(4);
  const { result } = await job.finished;
  expect(result).toMatchObject({ completed_trials: 4, ended_at: "2025-01-15T10:30:02.000Z" });
  expect(clock.pendingTimers).toBe(0);
});

test("R34: while nothing ends nothing is written", async () => {
  const clock = new FakeClock();
  const { job, finish } = startGated(clock, 2);
  await finish(1);
  await clock.advance(1000);
  await until(() => hasResult(job));
  const { ino } = statSync(join(job.jobDir, "result.json"));
  await clock.advance(10_000);
  expect(statSync(join(job.jobDir, "result.json")).ino).toBe(ino);
  await finish(2);
  await job.finished;
});

test("R34: what is counted while result.json is being written is in the next one, without another trial", async () => {
  const clock = new FakeClock();
  const paths = jobPaths(makeRoot());
  const planned = { agentName: "a", datasetName: "set", taskName: "one" };
  const tally = new JobTally(
    [1, 2].map((attempt) => ({ ...planned, attempt })),
    [],
    true,
  );
  const untrusted: readonly string[] = [];
  const result = { reward: 1, cost: 0, error: null, agent_usage: null, untrusted } as TrialResultFile;
  const end = {
    jobName: "j",
    sessions: [],
    isCancelled: false,
    isStoppedByBudget: false,
    warnings: [],
  };
  let looks = 0;
  const recorder = new JobRecorder({
    paths,
    journal: { append: async () => {}, [Symbol.asyncDispose]: async () => {} },
    tally,
    clock,
    redactor: noSecrets,
    log: silentLog,
    state: () => {
      // The first look begins the first writing; what comes a moment later comes during it.
      if (looks++ === 0) queueMicrotask(() => recorder.count(1, result, sampleUnit(1)));
      return end;
    },
    toRun: () => sampleRun(),
    registration: null,
  });
  const completed = (): number => (JSON.parse(readFileSync(paths.result, "utf8")) as JobResultFile).completed_trials;
  recorder.count(0, result, sampleUnit(0));
  await clock.advance(1000);
  await until(() => existsSync(paths.result) && clock.pendingTimers === 1);
  expect(completed()).toBe(1);
  await clock.advance(1000);
  await until(() => completed() === 2);
});

describe(".rollout/run.json", () => {
  const runOf = (job: RunningJob): Run =>
    JSON.parse(readFileSync(join(job.jobDir, ".rollout/run.json"), "utf8")) as Run;
  const hasRun = (job: RunningJob): boolean => existsSync(join(job.jobDir, ".rollout/run.json"));

  test("is written at the start, every 30 seconds and at the end", async () => {
    const clock = new FakeClock();
    const { job, finish } = startGated(clock, 3);
    await until(() => hasRun(job));
    expect(runOf(job)).toMatchObject({
      id: "run-1",
      kind: "job",
      name: "job",
      status: "running",
      isResumable: true,
      createdAt: Date.parse("2025-01-15T10:30:00Z"),
      endedAt: null,
      sessions: [{ startedAt: Date.parse("2025-01-15T10:30:00Z"), endedAt: null, durationSec: 0 }],
      owner: { pid: process.pid },
      plan: { total: 3, concurrency: 3, groups: [{ labels: { agent: "a", dataset: "set" }, total: 3 }] },
      counts: { finished: 0 },
      targets: ["a"],
      datasets: [{ name: "set", version: null }],
      location: "jobs/job",
    });
    await finish(1);
    await clock.advance(29_999);
    expect(runOf(job).counts.finished).toBe(0);
    await clock.advance(1);
    await until(() => runOf(job).counts.finished === 1);
    expect(runOf(job)).toMatchObject({ sessions: [{ durationSec: 30 }], headline: { passed: 1, counted: 1 } });
    // The next one comes although no trial ends.
    await clock.advance(30_000);
    await until(() => runOf(job).sessions[0]?.durationSec === 60);
    await finish(2);
    await finish(3);
    await job.finished;
    expect(runOf(job)).toMatchObject({
      status: "completed",
      isResumable: false,
      endedAt: Date.parse("2025-01-15T10:31:00Z"),
      owner: null,
      counts: { finished: 3, completed: 3, failed: 0, cancelled: 0, untrusted: 0 },
      headline: { score: "reward", measure: "pass_rate", value: 1, passed: 3, counted: 3, excluded: {} },
    });
    expect(clock.pendingTimers).toBe(0);
    const end = job.events.at(-1);
    expect(end?.type === "run_finished" ? end.run : null).toEqual(runOf(job));
  });

  test("shows at once that a job is paused", async () => {
    const { job, finish } = startGated(new FakeClock(), 1);
    await until(() => job.events.some(({ type }) => type === "unit_started"));
    writeFileSync(join(job.jobDir, ".rollout/pause"), "");
    await until(() => runOf(job).status === "paused");
    rmSync(join(job.jobDir, ".rollout/pause"));
    await until(() => runOf(job).status === "running");
    await finish(1);
    await job.finished;
  });

  test("keeps creation time, git state and description when a job is resumed, and adds a session", async () => {
    const root = makeRoot();
    const clock = new FakeClock();
    const git = { revision: "abc", isDirty: true };
    const first = startJob({
      root,
      clock,
      tasks: { one: {}, two: {} },
      config: { n_concurrent_trials: 1 },
      script: { execute: hang },
      origin: { description: "what it is", tags: { team: "x", model: "small" }, git },
    });
    await until(() => first.events.some((event) => event.type === "unit_phase" && event.phase === "agent_execution"));
    await clock.advance(5000);
    first.cancel();
    await first.finished;
    expect(runOf(first)).toMatchObject({
      status: "cancelled",
      isResumable: true,
      counts: { finished: 1, completed: 0, failed: 0, cancelled: 1 },
      headline: { value: null, counted: 0, excluded: { cancelled: 1 } },
    });
    await clock.advance(60_000);
    const again = startJob({
      root,
      clock,
      resume: {},
      origin: { tags: { model: "large" }, git: { revision: "def", isDirty: false } },
    });
    await again.finished;
    expect(runOf(again)).toMatchObject({
      id: "run-1",
      status: "completed",
      isResumable: false,
      createdAt: Date.parse("2025-01-15T10:30:00Z"),
      sessions: [
        { endedAt: Date.parse("2025-01-15T10:30:05Z"), durationSec: 5 },
        { startedAt: Date.parse("2025-01-15T10:31:05Z") },
      ],
      counts: { finished: 2, completed: 2, cancelled: 0 },
      description: "what it is",
      tags: { team: "x", model: "large" },
      git,
    });
  });

  test("that cannot be written does not fail the job", async () => {
    const root = makeRoot();
    mkdirSync(join(root, "jobs/job/.rollout/run.json"), { recursive: true });
    const job = startJob({ root, resume: {}, config: { log_level: "warn" } });
    expect((await job.finished).run).toMatchObject({ unwritten: null, result: { completed_trials: 1 } });
    expect(job.logs).toMatchObject([{ message: "run.json could not be replaced" }, {}]);
  });
});
