import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editDistance } from "./edit-distance.ts";
import { levenshtein } from "./levenshtein.ts";
import { score } from "./testing/score.ts";

const { signal } = new AbortController();

describe("levenshtein", () => {
  test("marks the share of code points that stay", async () => {
    expect(await score(levenshtein(), { output: "sitting", groundTruth: "kitten" })).toMatchObject({
      score: 1 - 3 / 7,
      reason: "3 of 7 characters differ",
    });
    expect(await score(levenshtein(), { output: "", groundTruth: "" })).toMatchObject({ score: 1 });
    expect(await score(levenshtein(), { output: "", groundTruth: "abc" })).toMatchObject({ score: 0 });
    expect(await score(levenshtein(), { output: "👍🏽é", groundTruth: "👎🏽é" })).toMatchObject({ score: 1 - 1 / 3 });
    expect(await score(levenshtein({ ignoreCase: true }), { output: "ABC", groundTruth: "abc" })).toMatchObject({
      score: 1,
    });
  });

  test("gives texts above a length no mark and says so", async () => {
    const output = "x".repeat(100_001);
    expect(await score(levenshtein(), { output, groundTruth: "y" })).toEqual({
      score: null,
      reason: "a text of 100001 characters is longer than 100000",
    });
    expect(await score(levenshtein({ maxLength: 200_000 }), { output, groundTruth: "y" })).toMatchObject({ score: 0 });
  });
});

describe("the edit distance", () => {
  test("is the one of the plain algorithm for any texts", async () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 100 }),
      fc.string({ unit: fc.constantFrom("a", "b", "💥"), maxLength: 100 }),
    );
    await fc.assert(
      fc.asyncProperty(text, text, async (a, b) => {
        expect(await editDistance(a, b, signal)).toBe(plainDistance(Array.from(a), Array.from(b)));
      }),
      { numRuns: 100 },
    );
  });

  test("of texts that fill whole blocks of 32 and 64 is right at their edges", async () => {
    for (const length of [31, 32, 33, 63, 64, 65]) {
      for (const other of [1, 31, 32, 33, 100]) {
        const a = Array.from({ length }, (_, index) => "abc"[(index * 7) % 3]!);
        const b = Array.from({ length: other }, (_, index) => "acbd"[(index * 5) % 4]!);
        expect(await editDistance(a.join(""), b.join(""), signal)).toBe(plainDistance(a, b));
      }
    }
  });

  test("of two texts of 100,000 characters leaves others their turn, and ends when it is aborted", async () => {
    const random = (seed: number): string => {
      let state = seed;
      const letter = (): string => String.fromCodePoint(97 + ((state = (state * 48_271) % 2_147_483_647) % 26));
      return Array.from({ length: 100_000 }, letter).join("");
    };
    const controller = new AbortController();
    let turns = 0;
    const timer = setInterval(() => ++turns === 5 && controller.abort(new Error("enough")), 1);
    try {
      await expect(editDistance(random(1), random(2), controller.signal)).rejects.toThrow("enough");
    } finally {
      clearInterval(timer);
    }
  });
});

function plainDistance(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
