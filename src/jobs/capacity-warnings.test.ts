import { expect, test } from "vitest";
import { capacityWarnings } from "./capacity-warnings.ts";
import type { PreparedJob } from "./prepare-job.ts";
import { runJobOnRig } from "./testing/job-rig.ts";

async function prepare(config: Record<string, unknown>): Promise<Pick<PreparedJob, "job" | "trials">> {
  let prepared: PreparedJob | undefined;
  await runJobOnRig({
    config,
    tasks: {
      small: { toml: '[environment]\ncpus = 1\nmemory = "1G"\n' },
      large: { toml: '[environment]\ncpus = 4\nmemory = "6G"\n' },
      middle: { toml: '[environment]\ncpus = 2\nmemory = "2G"\n' },
    },
    onPrepared: (found) => (prepared = found),
  });
  if (prepared === undefined) throw new Error("nothing was prepared");
  return prepared;
}

test("the largest trials that may run at once are held against the machine", async () => {
  const { job, trials } = await prepare({ n_concurrent_trials: 2 });
  expect(capacityWarnings(job, trials, { cpus: 6, memoryBytes: 8e9 })).toEqual([]);
  expect(capacityWarnings(job, trials, { cpus: 5, memoryBytes: 8e9 })).toEqual([
    "2 trials at once may use 6 of the 5 CPUs that the environment's machine has; they may slow each other down or run out of memory (n_concurrent_trials)",
  ]);
  expect(capacityWarnings(job, trials, { cpus: 2, memoryBytes: 7.5e9 })).toEqual([
    expect.stringContaining("may use 6 of the 2 CPUs and 8 of the 7.5 GB of memory that"),
  ]);
});

test("no more trials count than there are, and a machine nobody knows is not spoken of", async () => {
  const { job, trials } = await prepare({ n_concurrent_trials: 64 });
  expect(capacityWarnings(job, trials, { cpus: 7, memoryBytes: 9e9 })).toEqual([]);
  expect(capacityWarnings(job, trials, null)).toEqual([]);
});
