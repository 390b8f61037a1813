import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findNumber } from "./find-number.ts";
import { numeric } from "./numeric.ts";
import { score } from "./testing/score.ts";

describe("numeric", () => {
  test("allows what the larger tolerance allows", async () => {
    const marks = async (options: object, output: unknown) =>
      (await score(numeric(options), { output, groundTruth: 100 })).score;
    expect(await marks({}, 100)).toBe(1);
    expect(await marks({}, 100.1)).toBe(0);
    expect(await marks({ absolute: 0.1 }, 100.1)).toBe(1);
    expect(await marks({ relative: 0.01 }, 101)).toBe(1);
    expect(await marks({ relative: 0.01, absolute: 2 }, 102)).toBe(1);
    expect(await marks({ relative: 0.01 }, 101.5)).toBe(0);
  });

  test("takes a text that is a number, and finds one in a text when it is asked to", async () => {
    const groundTruth = "1,234.5";
    expect(await score(numeric(), { output: " 1234.5\n", groundTruth })).toMatchObject({ score: 1 });
    expect(await score(numeric(), { output: "It is 1234.5.", groundTruth })).toEqual({
      score: 0,
      reason: 'found no number in "It is 1234.5."; to take one out of a text, set find: "first" or "last"',
    });
    const output = "Of 3 parts, the total is $1,234.5.";
    expect(await score(numeric({ find: "last" }), { output, groundTruth })).toMatchObject({ score: 1 });
    expect(await score(numeric({ find: "first" }), { output, groundTruth })).toEqual({
      score: 0,
      reason: "3 is 1231.5 away from 1234.5",
      metadata: { value: 3 },
    });
  });

  test("gives no mark when a number is not what is expected", async () => {
    for (const groundTruth of [undefined, "many", Number.NaN, {}]) {
      expect(await score(numeric(), { output: 1, groundTruth })).toMatchObject({ score: null });
    }
  });

  test("refuses a negative tolerance", () => {
    expect(() => numeric({ absolute: -1 })).toThrow(/absolute: must be at least 0, got -1/);
  });
});

describe("a number in a text", () => {
  test("is told apart from versions, words and hyphens", () => {
    expect(findNumber("version 1.2.3 of h2o", "last")).toBeNull();
    expect(findNumber("3-4", "last")).toBe(4);
    expect(findNumber("it is −5", "first")).toBe(-5);
    expect(findNumber("about .5 or 1e-3", "first")).toBe(0.5);
    expect(findNumber("about .5 or 1e-3", "last")).toBe(0.001);
    expect(findNumber("", "first")).toBeNull();
  });

  test("is found again after any number was written into a sentence", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(findNumber(`So the answer is ${value}.`, "last")).toBe(value === 0 ? value + 0 : value);
      }),
    );
  });
});
