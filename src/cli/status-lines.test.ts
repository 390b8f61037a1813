import { expect, test } from "vitest";
import { RolloutError } from "../base/rollout-error.ts";
import { readJob } from "../jobs/output/read-job.ts";
import { onlyTrial, runJobOnRig } from "../jobs/testing/job-rig.ts";
import { runningOf } from "./running-of.ts";
import { statusLines } from "./status-lines.ts";

test("the pass rate names its denominator and what is not counted", async () => {
  const { run } = await runJobOnRig({
    config: { n_attempts: 6, n_concurrent_trials: 1 },
    faults: ({ operation, labels }) => {
      if (operation === "create" && /__[345]$/.test(labels["rollout.trial-key"] ?? ""))
        throw new RolloutError("environment_start_failed", "no room");
    },
    script: { execute: ({ key }) => (key.endsWith("__6") ? 1 : 0) },
  });
  const job = await readJob(run.dir);
  const lines = statusLines({ job, state: "ended", running: [], next: { command: null, notes: [] } }, 0);
  expect(lines).toEqual([
    "job  completed",
    "6 of 6 trials finished, 4 failed",
    "pass 67% (2 of 3; 3 not counted: 3 infrastructure)",
  ]);
});

test("a trial that has its result is finished, and does not run as well while its environment goes", async () => {
  const { run } = await runJobOnRig({});
  const job = await readJob(run.dir);
  const running = [onlyTrial, "a/set/one__2"].map((key) => ({ key, startedAt: 0, phase: "verifier", phaseAt: 0 }));
  expect(runningOf(job, running).map(({ key }) => key)).toEqual(["a/set/one__2"]);
});
