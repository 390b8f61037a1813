import { expect, test } from "vitest";
import { RolloutError } from "../base/rollout-error.ts";
import { readJob } from "../jobs/output/read-job.ts";
import { runJobOnRig } from "../jobs/testing/job-rig.ts";
import { statusLines } from "./status-lines.ts";

test("a rate says what it is of: trials with a reward, all that ended, all but what infrastructure did", async () => {
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
    "job  ended",
    "6 of 6 trials finished, 4 failed",
    "passed 2 of 2 with a reward (100%), 33% of all 6 that ended, 67% without failures of infrastructure",
  ]);
});
