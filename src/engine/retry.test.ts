import { describe, expect, test } from "vitest";
import { RolloutError } from "../base/rollout-error.ts";
import { RetryBudget, retryTransient } from "./retry.ts";

const rules = { maxAttempts: 4, initialDelayMs: 1000, maxDelayMs: 5000, multiplier: 2 };
const hiccup = new RolloutError("exec_failed", "500", { transient: true });

describe("RetryBudget", () => {
  test("waits longer each time, up to the cap, and ends after max_attempts retries", () => {
    const budget = new RetryBudget(rules);
    expect([1, 2, 3, 4, 5].map(() => budget.take(hiccup))).toEqual([1000, 2000, 4000, 5000, null]);
    expect(budget.used).toBe(4);
  });

  test("is spent only on errors that say they are transient", () => {
    const budget = new RetryBudget(rules);
    expect(budget.take(new RolloutError("exec_failed", "transient? no"))).toBeNull();
    expect(budget.take(new Error("transient"))).toBeNull();
    expect(budget.used).toBe(0);
  });
});

describe("retryTransient", () => {
  test("calls until it succeeds", async () => {
    let calls = 0;
    const waits: number[] = [];
    const value = await retryTransient(
      async () => {
        if (++calls < 3) throw hiccup;
        return "ok";
      },
      new RetryBudget(rules),
      async (waitMs) => void waits.push(waitMs),
    );
    expect([value, calls, waits]).toEqual(["ok", 3, [1000, 2000]]);
  });

  test("throws the last error when the budget is spent", async () => {
    await expect(
      retryTransient(
        () => Promise.reject(hiccup),
        new RetryBudget({ ...rules, maxAttempts: 0 }),
        async () => {},
      ),
    ).rejects.toBe(hiccup);
  });
});
