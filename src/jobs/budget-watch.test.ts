import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { readJob } from "./output/read-job.ts";
import type { Act } from "./testing/acts.ts";
import { runJobOnRig, startJob, type RigOptions } from "./testing/job-rig.ts";
import { until } from "./testing/until.ts";

const spends = (usage: Readonly<Record<string, number>>): Act => {
  return ({ files }) => {
    files.write("/logs/agent/usage.json", JSON.stringify(usage));
    return 0;
  };
};

describe("a budget", () => {
  test("R36: when cost_usd is spent no trial is taken any more, and the rest is skipped", async () => {
    const job = await runJobOnRig({
      config: { n_attempts: 10, n_concurrent_trials: 1, budget: { cost_usd: 1 } },
      script: { execute: spends({ cost_usd: 0.3 }) },
    });
    expect(job.result).toMatchObject({
      completed_trials: 4,
      failed_trials: 0,
      skipped_trials: 6,
      stopped_by_budget: true,
      cancelled: false,
    });
    expect(job.events.at(-1)).toMatchObject({
      type: "run_finished",
      run: { status: "budget_exhausted", details: { skipped_trials: 6 } },
    });
    expect(job.events).toContainEqual(
      expect.objectContaining({ type: "run_stopping", reason: "budget.cost_usd: 1.2 of 1 is spent" }),
    );
  });

  test("R36: what a trial spent counts before the next one starts beside its removal", async () => {
    const job = await runJobOnRig({
      config: { n_attempts: 10, n_concurrent_trials: 1, budget: { cost_usd: 1 } },
      capabilities: { removalOverlaps: true },
      script: { execute: spends({ cost_usd: 0.3 }) },
    });
    expect(job.result).toMatchObject({ completed_trials: 4, skipped_trials: 6, stopped_by_budget: true });
  });

  test("R28: it sums what the environment costs and what the agent reports", async () => {
    const job = await runJobOnRig({
      config: { n_attempts: 5, n_concurrent_trials: 1, budget: { cost_usd: 1 } },
      onEnvironment: (environment) => (environment.cost = () => 0.25),
      script: { execute: spends({ cost_usd: 0.25 }) },
    });
    expect(job.result).toMatchObject({ completed_trials: 2, skipped_trials: 3 });
  });

  test("R36: tokens are the agents' input and output tokens together", async () => {
    const job = await runJobOnRig({
      config: { n_attempts: 5, n_concurrent_trials: 1, budget: { tokens: 250 } },
      script: { execute: spends({ input_tokens: 90, output_tokens: 10 }) },
    });
    expect(job.result).toMatchObject({ completed_trials: 3, skipped_trials: 2, stopped_by_budget: true });
  });

  test("R36: wall_sec lets running trials end and takes no new ones", async () => {
    const clock = new FakeClock();
    let running = 0;
    const execute: Act = async ({ signal }) => {
      running++;
      await clock.sleep(90_000, signal);
      return 0;
    };
    const job = startJob({
      clock,
      config: { n_attempts: 3, n_concurrent_trials: 2, budget: { wall_sec: 60 } },
      script: { execute },
    });
    await until(() => running === 2);
    await clock.advance(90_000);
    const finished = await job.finished;
    expect(finished.result).toMatchObject({ completed_trials: 2, skipped_trials: 1, stopped_by_budget: true });
    expect(clock.pendingTimers).toBe(0);
  });

  test("R36: it is warned about once at 80 per cent, and the warning is in the result wherever it is read", async () => {
    const job = await runJobOnRig({
      config: { n_attempts: 10, n_concurrent_trials: 1, budget: { cost_usd: 1 } },
      script: { execute: spends({ cost_usd: 0.09 }) },
    });
    const warnings = ["budget.cost_usd: 0.81 of 1 is spent; no new trial starts at the limit"];
    expect(job.events.flatMap((event) => (event.type === "warning" ? [event.message] : []))).toEqual(warnings);
    expect(job.result).toMatchObject({ completed_trials: 10, stopped_by_budget: false, warnings });
    expect((await readJob(job.run.dir)).result).toEqual(job.result);
  });

  test("R36: what is not known does not count, and is called unknown and not 0", async () => {
    const job = await runJobOnRig({
      config: { n_attempts: 3, n_concurrent_trials: 1, budget: { cost_usd: 1, tokens: 100 } },
      onEnvironment: (environment) => (environment.cost = () => null),
    });
    expect(job.result).toMatchObject({ completed_trials: 3, unknown_cost_trials: 3, stopped_by_budget: false });
    expect(job.result.warnings).toEqual([
      "budget.cost_usd: what some trials cost is unknown and does not count",
      "budget.tokens: what some trials used is unknown and does not count",
    ]);
  });

  test("R36: what an agent spent that tells nothing of it is unknown, whatever its environment cost", async () => {
    const run = (options: RigOptions) =>
      runJobOnRig({ ...options, config: { budget: { cost_usd: 1 }, ...options.config } });
    const silent = await run({ pricePerHour: 1 });
    expect(silent.result).toMatchObject({ completed_trials: 1, unknown_cost_trials: 0 });
    expect(silent.result.warnings).toEqual(["budget.cost_usd: what some agents spent is unknown and does not count"]);
    const telling = await run({ script: { execute: spends({ cost_usd: 0 }) } });
    expect(telling.result.warnings).toEqual([]);
    expect((await run({ config: { agents: [{ name: "nop" }] } })).result.warnings).toEqual([]);
  });
});
