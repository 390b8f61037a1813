import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { noSecrets } from "../../base/redactor.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Act } from "../testing/acts.ts";
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
      if (looks++ === 0) queueMicrotask(() => recorder.count(1, result));
      return end;
    },
  });
  const completed = (): number => (JSON.parse(readFileSync(paths.result, "utf8")) as JobResultFile).completed_trials;
  recorder.count(0, result);
  await clock.advance(1000);
  await until(() => existsSync(paths.result) && clock.pendingTimers === 1);
  expect(completed()).toBe(1);
  await clock.advance(1000);
  await until(() => completed() === 2);
});
