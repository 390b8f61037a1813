import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RolloutError } from "../base/rollout-error.ts";
import { exact } from "./exact.ts";
import { score } from "./testing/score.ts";

describe("exact", () => {
  test("marks the same text 1 and another one 0 with both in the reason", async () => {
    expect(await score(exact(), { output: "Paris", groundTruth: "Paris" })).toEqual({ score: 1, reason: null });
    expect(await score(exact(), { output: "paris ", groundTruth: "Paris" })).toEqual({
      score: 0,
      reason: 'expected "Paris", got "paris "',
    });
  });

  test("says so when texts differ only in their normal form", async () => {
    const { score: mark, reason } = await score(exact(), { output: "Zu\u0308rich", groundTruth: "Z\u00fcrich" });
    expect(mark).toBe(0);
    expect(reason).toContain("normalize()");
  });

  test("leaves out white space and case when it is told to", async () => {
    const scorer = exact({ trim: true, ignoreCase: true });
    expect(await score(scorer, { output: "\n PARIS ", groundTruth: "Paris" })).toMatchObject({ score: 1 });
  });

  test("compares other values as JSON, the order of keys aside, and names the first path that differs", async () => {
    const groundTruth = { city: "Rome", at: [1, 2] };
    expect(await score(exact(), { output: { at: [1, 2], city: "Rome" }, groundTruth })).toMatchObject({ score: 1 });
    expect(await score(exact(), { output: { at: [1, 3], city: "Rome" }, groundTruth })).toEqual({
      score: 0,
      reason: "at[1]: expected 2, got 3",
    });
  });

  test("reads the text of an agent's answer and of its messages", async () => {
    const messages = [{ role: "assistant", content: { format: 2, parts: [{ type: "text", text: "Paris" }] } }];
    for (const output of [{ text: "Paris", steps: [] }, messages, [{ role: "assistant", content: "Paris" }]]) {
      expect(await score(exact(), { output, groundTruth: "Paris" })).toMatchObject({ score: 1 });
    }
  });

  test("marks neither an item without ground truth nor one that failed", async () => {
    expect(await score(exact(), { output: "a" })).toEqual({ score: null, reason: "the item has no ground truth" });
    expect(await score(exact(), { output: null, groundTruth: null, error: "boom" })).toEqual({
      score: null,
      reason: "the item failed: boom",
    });
  });

  test("takes what it marks and what it expects from functions", async () => {
    const scorer = exact({
      id: "city",
      read: ({ output }) => (output as { city: string }).city,
      expected: () => "Rome",
    });
    expect(scorer.id).toBe("city");
    expect(await score(scorer, { output: { city: "Rome" } })).toMatchObject({ score: 1 });
  });

  test("refuses options that it does not know, with a suggestion", () => {
    const wrong = () => exact({ ignorecase: true, trim: "yes" } as never);
    expect(wrong).toThrow(RolloutError);
    expect(wrong).toThrow(
      'the options of the scorer "exact" are wrong: trim: expected true or false, got "yes"; ignorecase: unknown key; did you mean "ignoreCase"?',
    );
  });

  test("marks any JSON value 1 against a copy of it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const copy: unknown = structuredClone(value);
        expect(await score(exact(), { output: copy, groundTruth: value })).toMatchObject({ score: 1 });
      }),
    );
  });
});
