import { describe, expect, test } from "vitest";
import { includes } from "./includes.ts";
import { score } from "./testing/score.ts";

const output = "The capital of France is Paris, on the Seine.";

describe("includes", () => {
  test("marks 1 when the expected text is in the output", async () => {
    expect(await score(includes(), { output, groundTruth: "Paris" })).toEqual({ score: 1, reason: null });
    expect(await score(includes(), { output, groundTruth: "paris" })).toEqual({
      score: 0,
      reason: 'does not hold "paris"',
    });
    expect(await score(includes({ ignoreCase: true }), { output, groundTruth: "paris" })).toMatchObject({ score: 1 });
  });

  test("wants all of several texts, or any", async () => {
    const groundTruth = ["Paris", "Loire", "Rhône"];
    expect(await score(includes(), { output, groundTruth })).toEqual({
      score: 0,
      reason: 'does not hold "Loire", "Rhône"',
    });
    expect(await score(includes({ match: "any" }), { output, groundTruth })).toMatchObject({ score: 1 });
    expect(await score(includes({ match: "any" }), { output, groundTruth: ["x", "y"] })).toEqual({
      score: 0,
      reason: 'does not hold "x" or "y"',
    });
  });

  test("gives no mark when there is nothing to look for", async () => {
    for (const groundTruth of [undefined, [], 3, ["a", 1]]) {
      expect(await score(includes(), { output, groundTruth })).toMatchObject({ score: null });
    }
  });

  test("takes the texts from a function", async () => {
    expect(await score(includes({ expected: () => ["Seine"] }), { output })).toMatchObject({ score: 1 });
  });
});
