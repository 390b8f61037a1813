import { expect, test } from "vitest";
import { sampleFailedUnit, sampleRun, sampleUnit } from "./conformance/sample-run.ts";
import { recountRun } from "./recount.ts";
import { toUnitRow } from "./unit-row.ts";

const run = sampleRun({
  status: "interrupted",
  sessions: [
    { startedAt: 0, endedAt: 500, durationSec: 0.5 },
    { startedAt: 1_000, endedAt: null, durationSec: 0 },
  ],
  shape: { groupBy: ["agent"], itemLabel: "task", scoreName: "reward", passAt: 1, unitNoun: "trial" },
});

test("counts the stored units of a run whose process died", () => {
  const rows = [
    sampleUnit(0, { scores: [{ name: "reward", value: 1 }], spendUsd: 0.5, startedAt: 1_000, endedAt: 3_000 }),
    sampleUnit(1, { scores: [{ name: "reward", value: 0 }], spendUsd: null, startedAt: 1_000, endedAt: 4_000 }),
    sampleFailedUnit(2),
  ].map(toUnitRow);
  const counted = recountRun(run, rows);
  expect(counted).toMatchObject({
    counts: { finished: 3, completed: 2, failed: 1, cancelled: 0 },
    headline: { score: "reward", measure: "pass_rate", passed: 1, counted: 3 },
    unknownSpends: 1,
  });
  expect(counted.headline?.value).toBeCloseTo(1 / 3);
  expect(counted.sessions.at(0)?.durationSec).toBe(0.5);
  expect(counted.sessions.at(-1)?.durationSec).toBeGreaterThanOrEqual(3);
});

test("a run without a stored unit has counts of zero", () => {
  expect(recountRun(run, [])).toMatchObject({
    counts: { finished: 0 },
    headline: { value: null, counted: 0 },
    sessions: run.sessions,
  });
});
