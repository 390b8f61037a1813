import { describe, expect, test } from "vitest";
import { regex } from "./regex.ts";
import { score } from "./testing/score.ts";

describe("regex", () => {
  test("marks 1 when the pattern matches somewhere in the text", async () => {
    expect(await score(regex({ pattern: /par[iy]s/i }), { output: "in Paris" })).toEqual({ score: 1, reason: null });
    expect(await score(regex({ pattern: "^Paris$" }), { output: "in Paris" })).toEqual({
      score: 0,
      reason: '"in Paris" does not match /^Paris$/',
    });
    expect(await score(regex({ pattern: "^PARIS$", flags: "i" }), { output: "Paris" })).toMatchObject({ score: 1 });
  });

  test("marks the same text the same, however often, when the pattern is global or sticky", async () => {
    const pattern = /a/gy;
    pattern.lastIndex = 1;
    const scorer = regex({ pattern });
    const marks = [];
    for (let index = 0; index < 3; index++) marks.push((await score(scorer, { output: "a" })).score);
    expect(marks).toEqual([1, 1, 1]);
    expect(pattern.lastIndex).toBe(1);
  });

  test("refuses a pattern that is none, and flags beside a pattern that has its own", () => {
    expect(() => regex({ pattern: "(" })).toThrow(/the pattern of the scorer "regex" is wrong/);
    expect(() => regex({ pattern: /a/, flags: "i" })).toThrow(/takes flags only beside a pattern that is a text/);
    expect(() => regex({} as never)).toThrow(/pattern: is required/);
  });
});
