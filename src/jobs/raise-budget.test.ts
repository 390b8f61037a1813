import { expect, test } from "vitest";
import { describeRaised, raiseBudget, type BudgetStand } from "./raise-budget.ts";

const stand: BudgetStand = {
  budget: { costUsd: 1, wallSec: null, tokens: null },
  spent: { costUsd: 1.25, wallSec: 40, tokens: 0 },
  finished: 5,
  left: 3,
  deadlineSec: null,
};

test("R36: a limit that is spent is raised to what is left at the rate so far, and to twice as much at least", () => {
  expect(raiseBudget(stand)).toMatchObject([{ name: "cost_usd", limit: 1, spent: 1.25, raised: 2.4 }]);
  expect(raiseBudget({ ...stand, left: 95 })).toMatchObject([{ raised: 30 }]);
  expect(describeRaised(raiseBudget(stand))).toEqual([
    "budget.cost_usd: 1.25 of 1 is spent; 3 of 8 trials are left, and at the rate so far the job needs about 2 in all",
  ]);
});

test("R36: a limit that is not spent stays as it is, and so does one that nothing is left for", () => {
  expect(raiseBudget({ ...stand, budget: { costUsd: 2, wallSec: 50, tokens: 10 } })).toEqual([]);
  expect(raiseBudget({ ...stand, left: 0 })).toEqual([]);
});

test("R36: before anything was measured time is raised to what the deadlines allow, and tokens stay whole", () => {
  const early = { ...stand, finished: 0, spent: { costUsd: 0, wallSec: 0.01, tokens: 7 } };
  const budget = { costUsd: null, wallSec: 0.000001, tokens: 5 };
  expect(raiseBudget({ ...early, budget, deadlineSec: 100 }).map(({ raised }) => raised)).toEqual([130, 10]);
  expect(raiseBudget({ ...early, budget }).map(({ raised }) => raised)).toEqual([72, 10]);
});
