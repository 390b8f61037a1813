import { describe, expect, test } from "vitest";
import { cost } from "./cost.ts";
import { latency } from "./latency.ts";
import { score } from "./testing/score.ts";

const spent = (costUsd: number | null) => ({ usage: { costUsd, inputTokens: null, outputTokens: null } });

describe("latency", () => {
  test("passes up to a limit", async () => {
    expect(await score(latency({ limitMs: 100 }), { durationMs: 100 })).toEqual({ score: 1, reason: "took 100 ms" });
    expect(await score(latency({ limitMs: 100 }), { durationMs: 100.5 })).toMatchObject({ score: 0 });
  });

  test("falls evenly from a target to the limit", async () => {
    const scorer = latency({ targetMs: 100, limitMs: 300 });
    const marks = [];
    for (const durationMs of [50, 100, 150, 250, 300, 999]) marks.push((await score(scorer, { durationMs })).score);
    expect(marks).toEqual([1, 1, 0.75, 0.25, 0, 0]);
  });

  test("refuses a target that is not below its limit", () => {
    expect(() => latency({ targetMs: 300, limitMs: 300 })).toThrow(/targetMs: must be below limitMs/);
    expect(() => latency({} as never)).toThrow(/limitMs: is required/);
  });
});

describe("cost", () => {
  test("marks what was spent as latency marks time", async () => {
    expect(await score(cost({ limitUsd: 0.1 }), spent(0.1))).toEqual({ score: 1, reason: "cost 0.1 USD" });
    expect(await score(cost({ targetUsd: 0.1, limitUsd: 0.3 }), spent(0.25))).toMatchObject({
      score: expect.closeTo(0.25) as number,
    });
    expect(await score(cost({ limitUsd: 0.1 }), spent(0))).toMatchObject({ score: 1 });
  });

  test("gives an unknown cost no mark, and never a 0", async () => {
    const unknown = { score: null, reason: "the target does not say what it cost" };
    expect(await score(cost({ limitUsd: 1 }), spent(null))).toEqual(unknown);
    expect(await score(cost({ limitUsd: 1 }), { usage: null })).toEqual(unknown);
  });
});
