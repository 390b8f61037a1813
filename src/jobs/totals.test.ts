import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RolloutError } from "../base/rollout-error.ts";
import type { FaultHook, MemoryOperation } from "../environments/memory/fault-gate.ts";
import { readJob } from "./output/read-job.ts";
import { giveReward, hang, type Act } from "./testing/acts.ts";
import { runJobOnRig, startJob, type FinishedJob, type RunningJob } from "./testing/job-rig.ts";
import { makeRoot } from "./testing/temp-files.ts";

const operations: MemoryOperation[] = ["create", "exec", "copyTo", "copyFrom", "list", "freeze", "destroy"];

interface Plan {
  readonly attempts: number;
  readonly slots: number;
  /** What becomes of the nth operation of each kind. */
  readonly faults: readonly {
    readonly operation: MemoryOperation;
    readonly nth: number;
    readonly isTransient: boolean;
  }[];
  readonly rewards: readonly string[];
  /** Cancels when so many operations have begun; null lets the job end. */
  readonly cancelAt: number | null;
}

const planOf = fc.record<Plan>({
  attempts: fc.integer({ min: 1, max: 4 }),
  slots: fc.integer({ min: 1, max: 5 }),
  faults: fc.array(
    fc.record({
      operation: fc.constantFrom(...operations),
      nth: fc.integer({ min: 1, max: 8 }),
      isTransient: fc.boolean(),
    }),
    { maxLength: 6 },
  ),
  rewards: fc.array(fc.constantFrom("1", "0", "0.5", "nonsense", ""), { minLength: 1, maxLength: 4 }),
  cancelAt: fc.option(fc.integer({ min: 1, max: 60 })),
});

async function runPlan({ attempts, slots, faults, rewards, cancelAt }: Plan): Promise<FinishedJob> {
  const counts = new Map<MemoryOperation, number>();
  let begun = 0;
  let tests = 0;
  let job: RunningJob | undefined;
  const hook: FaultHook = ({ operation }) => {
    if (++begun === cancelAt) job?.cancel();
    const nth = (counts.get(operation) ?? 0) + 1;
    counts.set(operation, nth);
    const fault = faults.find((entry) => entry.operation === operation && entry.nth === nth);
    if (fault) throw new RolloutError("environment_lost", "the engine is gone", { transient: fault.isTransient });
  };
  job = startJob({
    root: makeRoot(),
    tasks: { one: {}, two: {}, broken: { files: { "tests/test.sh": null } } },
    config: {
      n_attempts: attempts,
      n_concurrent_trials: slots,
      retry: { max_attempts: 1, initial_delay_ms: 0 },
      agents: [{ name: "a", execute: "e" }, { name: "nop" }],
    },
    script: { test: (call) => giveReward(rewards[tests++ % rewards.length] ?? "1")(call) },
    faults: hook,
  });
  return job.finished;
}

test("R32: total = completed + failed + skipped, whatever fails and whenever the job is cancelled", async () => {
  await fc.assert(
    fc.asyncProperty(planOf, async (plan) => {
      const { result, run } = await runPlan(plan);
      const { total_trials, completed_trials, failed_trials, skipped_trials, results, skipped } = result;
      expect(total_trials).toBe(6 * plan.attempts);
      expect(completed_trials + failed_trials + skipped_trials).toBe(total_trials);
      expect(results).toHaveLength(completed_trials + failed_trials);
      expect(skipped).toHaveLength(skipped_trials);
      expect(result.cancelled || skipped_trials === 0).toBe(true);
      const failed = results.filter(
        ({ error_type }) => error_type !== null && error_type !== "environment_teardown_failed",
      );
      expect(failed).toHaveLength(failed_trials);
      expect(failed.every(({ reward }) => reward === null)).toBe(true);
      const agents = Object.values(result.agents);
      const sum = (key: "total_trials" | "completed_trials" | "failed_trials"): number =>
        agents.reduce((total, agent) => total + agent[key], 0);
      expect([sum("total_trials"), sum("completed_trials"), sum("failed_trials")]).toEqual([
        total_trials,
        completed_trials,
        failed_trials,
      ]);
      expect((await readJob(run.dir)).result).toEqual(result);
    }),
    { seed: 20_250_115, numRuns: 25 },
  );
}, 60_000);

test("R32: results are in the order of the plan, whatever the order of running", async () => {
  // The later a trial stands in the plan, the sooner it may end.
  let ended = 0;
  const order = ["a/set/two__2", "a/set/two__1", "a/set/one__2", "a/set/one__1"];
  const execute: Act = async ({ key }) => {
    while (order[ended] !== key) await new Promise((resolve) => setImmediate(resolve));
    return 0;
  };
  const job = await runJobOnRig({
    tasks: { one: {}, two: {} },
    config: { n_attempts: 2 },
    script: { execute },
    onEvent: (event) => void (event.type === "unit_finished" && ended++),
  });
  const finished = job.events.flatMap((event) => (event.type === "unit_finished" ? [event.unit.key] : []));
  expect(finished).toEqual(order);
  expect(job.result.results.map((entry) => `a/set/${entry.task_name}__${entry.attempt}`)).toEqual(order.toReversed());
});

describe("rates and means", () => {
  const rewardOf =
    (rewards: Readonly<Record<string, string>>): Act =>
    (call) =>
      giveReward(rewards[call.key.slice(6, -3)] ?? "")(call);

  test("R33: they are over completed trials with a reward, and beside them over all that were planned", async () => {
    const { result } = await runJobOnRig({
      tasks: { one: {}, two: {}, three: {}, four: {} },
      config: { metrics: [{ type: "sum" }, { type: "min" }, { type: "max" }, { type: "mean" }] },
      script: { test: rewardOf({ one: "1", two: "0.5", three: "bad", four: "1.5" }) },
    });
    expect(result).toMatchObject({
      completed_trials: 3,
      failed_trials: 1,
      pass_rate: 2 / 3,
      mean_reward: 1,
      pass_rate_over_planned: 0.5,
      mean_reward_over_planned: 0.75,
      coverage: 0.75,
      metrics: { sum: 3, min: 0.5, max: 1.5, mean: 1 },
      errors: { verifier_reward_invalid: 1 },
      pass_rate_interval: { level: 0.95 },
      mean_reward_interval: { level: 0.95 },
    });
    expect(result.agents["a"]).toMatchObject({
      pass_rate: 2 / 3,
      metrics: { sum: 3 },
      datasets: { set: { mean_reward: 1 } },
    });
  });

  test("failures are counted by who is to answer for them, and a rate leaves out what infrastructure did", async () => {
    let created = 0;
    const { result } = await runJobOnRig({
      tasks: { one: {}, two: {}, three: {}, four: { toml: "not toml [" } },
      config: { retry: { max_attempts: 0 }, n_concurrent_trials: 1 },
      script: { test: rewardOf({ one: "1", two: "bad", three: "1" }) },
      faults: ({ operation }) => {
        if (operation === "create" && ++created === 2) throw new RolloutError("environment_start_failed", "no room");
      },
    });
    expect(result).toMatchObject({
      completed_trials: 1,
      pass_rate: 1,
      pass_rate_over_planned: 0.25,
      headline: {
        rate: 0.5,
        interval: { method: "wilson", level: 0.95 },
        passed: 1,
        counted: 2,
        excluded: 2,
        excluded_by: { infrastructure: 1, task_invalid: 1 },
      },
      causes: { task: 2, infrastructure: 1 },
      agents: { a: { causes: { task: 2, infrastructure: 1 } } },
    });
  });

  test("R33: they are null, never 0, when no trial has a reward", async () => {
    const { result } = await runJobOnRig({ script: { execute: () => 1 }, config: { metrics: [{ type: "mean" }] } });
    const nothing = {
      pass_rate: null,
      mean_reward: null,
      pass_rate_interval: null,
      mean_reward_interval: null,
      metrics: { mean: null },
    };
    expect(result).toMatchObject({ ...nothing, pass_rate_over_planned: 0, mean_reward_over_planned: 0, coverage: 0 });
    expect(result.agents["a"]).toMatchObject({ ...nothing, datasets: { set: nothing } });
  });

  test("R33: the rates over all that were planned are null where no verifier runs", async () => {
    const { result } = await runJobOnRig({ config: { verifier: { disable: true } } });
    expect(result).toMatchObject({
      pass_rate: null,
      pass_rate_over_planned: null,
      mean_reward_over_planned: null,
      coverage: null,
    });
    const failed = await runJobOnRig({ config: { verifier: { disable: true } }, script: { execute: () => 1 } });
    expect(failed.result.headline).toMatchObject({ rate: null, counted: 0 });
  });

  test("R33: trials that were skipped count as planned", async () => {
    const job = startJob({
      tasks: { one: {}, two: {} },
      config: { n_concurrent_trials: 1 },
      script: { execute: (call) => (call.key.includes("two") ? hang(call) : 0) },
      onEvent: (event) => void (event.type === "unit_finished" && job.cancel()),
    });
    const { result } = await job.finished;
    expect(result).toMatchObject({ pass_rate: 1, pass_rate_over_planned: 0.5, coverage: 0.5 });
  });
});
