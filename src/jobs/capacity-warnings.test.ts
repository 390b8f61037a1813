import { expect, test } from "vitest";
import { capacityWarnings, fitWarnings } from "./capacity-warnings.ts";
import { fitConcurrency } from "./fit-concurrency.ts";
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

test("nobody's choice is bounded by what the machine has, and somebody's is not", async () => {
  const { job, trials } = await prepare({});
  const fit = (cpus: number, memoryBytes: number): number =>
    fitConcurrency(job, trials, { cpus, memoryBytes }).nConcurrentTrials;
  expect([fit(7, 9e9), fit(6, 9e9), fit(7, 8e9), fit(5, 6e9), fit(1, 1e9)]).toEqual([4, 2, 2, 1, 1]);
  expect(fitConcurrency(job, trials, null)).toBe(job);
  const fitted = fitConcurrency(job, trials, { cpus: 6, memoryBytes: 9e9 });
  expect(fitted.document["n_concurrent_trials"]).toBe(2);
  expect(fitWarnings(job, fitted, { cpus: 6, memoryBytes: 9e9 })).toEqual([
    "no more than 2 of 4 trials run at once, because the environment's machine has 6 CPUs and 9 GB of memory; n_concurrent_trials (--concurrency) says otherwise",
  ]);
  const chosen = await prepare({ n_concurrent_trials: 4 });
  expect(fitConcurrency(chosen.job, chosen.trials, { cpus: 1, memoryBytes: 1 })).toBe(chosen.job);
});
