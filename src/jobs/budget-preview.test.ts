import { describe, expect, test } from "vitest";
import { budgetedTrials, previewBudget } from "./budget-preview.ts";
import { describeBudget } from "./describe-budget.ts";
import type { PreparedJob } from "./prepare-job.ts";
import { runJobOnRig } from "./testing/job-rig.ts";

const nothing = { costUsd: 0, unknownCostTrials: 0, wallSec: 0, tokens: 0 };

async function prepare(agents: readonly Record<string, unknown>[]): Promise<PreparedJob> {
  let prepared: PreparedJob | undefined;
  const budget = { cost_usd: 5, wall_sec: 4000 };
  await runJobOnRig({
    config: { agents, n_attempts: 4, n_concurrent_trials: 4, budget },
    onPrepared: (found) => (prepared = found),
  });
  if (prepared === undefined) throw new Error("nothing was prepared");
  return prepared;
}

describe("a budget before the start", () => {
  test("R36: it is in the plan of the run, against what is known before the first trial", async () => {
    const toml = "[agent]\ntimeout_sec = 1000\n[verifier]\ntimeout_sec = 600\n[environment]\nbuild_timeout_sec = 200\n";
    const job = await runJobOnRig({
      tasks: { one: { toml } },
      config: { n_attempts: 4, n_concurrent_trials: 2, budget: { cost_usd: 5, wall_sec: 4000, tokens: 10 } },
      pricePerHour: 2,
    });
    const [budget = []] = job.events.flatMap((event) => (event.type === "run_started" ? [event.run.plan.budget] : []));
    expect(budget).toEqual([
      { name: "cost_usd", limit: 5, spent: 0, atMost: (4 * 1800 * 2) / 3600, unknown: ["what agents spend"] },
      { name: "wall_sec", limit: 4000, spent: 0, atMost: (4 * 1800) / 2 + 1800, unknown: [] },
      { name: "tokens", limit: 10, spent: 0, atMost: null, unknown: ["what agents use"] },
    ]);
    expect(describeBudget(budget, { count: 4, concurrency: 2, startAtOnce: false })).toEqual([
      "budget for 4 trials, 2 at once:",
      "  cost_usd 5: environments cost at most 4 by their deadlines; unknown: what agents spend; no new trial starts once it is spent",
      "  wall_sec 4000: the deadlines allow 5400 without retries, so it may end the job before all trials have started",
      "  tokens 10: unknown: what agents use; no new trial starts once it is spent",
    ]);
    expect(describeBudget([], { count: 4, concurrency: 2, startAtOnce: false })).toEqual([]);
  });

  test("R36: a price that nobody knows is unknown, and so is what earlier trials cost", async () => {
    const before = { costUsd: 1, unknownCostTrials: 2, wallSec: 30, tokens: 0 };
    const prepared = await prepare([{ name: "a", execute: "work" }]);
    const [cost, wall] = previewBudget({ ...prepared, pricePerHour: null, before });
    const unknown = ["what environments cost", "what agents spend", "what 2 earlier trials cost"];
    expect(cost).toMatchObject({ spent: 1, atMost: null, unknown });
    expect(wall?.spent).toBe(30);
    const only = { count: 1, concurrency: 1, startAtOnce: true };
    expect(describeBudget([{ name: "cost_usd", limit: 5, spent: 1, atMost: null, unknown }], only)[1]).toBe(
      `  cost_usd 5: 1 is spent already; unknown: ${unknown.join(", ")}; no new trial starts once it is spent`,
    );
  });

  test("R36: where no trial waits for another, the time that is allowed ends none of them", async () => {
    const rows = [{ name: "wall_sec", limit: 10, spent: 0, atMost: 50, unknown: [] }];
    const startAtOnce = async (
      limits: readonly (number | undefined)[],
      nConcurrentTrials: number,
    ): Promise<boolean> => {
      const agents = limits.map((limit, index) => ({ name: `a${index}`, execute: "work", n_concurrent: limit }));
      const prepared = await prepare(agents);
      return budgetedTrials({ ...prepared, job: { ...prepared.job, nConcurrentTrials } }).startAtOnce;
    };
    expect(await startAtOnce([undefined], 4)).toBe(true);
    expect(await startAtOnce([undefined], 3)).toBe(false);
    expect(await startAtOnce([undefined, 3], 8)).toBe(false);
    expect(await startAtOnce([undefined, 4], 8)).toBe(true);
    expect(describeBudget(rows, { count: 4, concurrency: 4, startAtOnce: true })[1]).toBe(
      "  wall_sec 10: the deadlines allow 50 without retries; all trials start at once and may finish, so it ends none of them",
    );
  });

  test("R36: a limit that is spent already lets no trial start, and nothing about it is a guess", () => {
    const rows = [{ name: "wall_sec", limit: 10, spent: 12.5, atMost: 50, unknown: [] }];
    expect(describeBudget(rows, { count: 4, concurrency: 2, startAtOnce: false })[1]).toBe(
      "  wall_sec 10: 12.5 is spent already, so no trial starts",
    );
  });

  test("R36: an agent's own limit makes the bound longer, and no bound is longer than one after the other", async () => {
    const longest = async (limits: readonly (number | undefined)[]): Promise<number> => {
      const agents = limits.map((limit, index) => ({ name: `a${index}`, execute: "work", n_concurrent: limit }));
      const [, wall] = previewBudget({ ...(await prepare(agents)), pricePerHour: 0, before: nothing });
      return wall?.atMost ?? 0;
    };
    const free = await longest([undefined, undefined]);
    const limited = await longest([2, undefined]);
    expect(limited).toBeGreaterThan(free);
    expect(await longest([1, 1])).toBeGreaterThan(limited);
    expect(await longest([1, 1])).toBe((await longest([1])) * 2);
  });
});
