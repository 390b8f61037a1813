import { expect, test } from "vitest";
import type { ScoredItem, Verdict } from "../../scoring/scorer.ts";
import { correlation } from "./correlation.ts";

async function mark(scores: readonly (number | null)[], truths: readonly unknown[]): Promise<Verdict> {
  const plain = { input: "", output: "", metadata: {}, durationMs: 0, usage: null, error: null, repeat: 0 };
  async function* items(): AsyncIterable<ScoredItem> {
    for (const [index, score] of scores.entries()) {
      yield { ...plain, itemId: String(index), groundTruth: truths[index], scores: { judge: score } };
    }
  }
  return await correlation({ scorer: "judge" }).runDataset({ items: items(), signal: new AbortController().signal });
}

test("a scorer that puts items in the expected order correlates fully, items that lack a number aside", async () => {
  expect(await mark([0.1, 0.2, null, 0.9, 0.5], [1, 2, 3, 40, "five"])).toEqual({
    score: 1,
    reason: '3 items have a score of "judge" and a number to compare it with',
  });
  expect((await mark([3, 2, 1], [1, 2, 3])).score).toBe(-1);
});

test("scores that never differ say nothing about an order", async () => {
  expect(await mark([1, 1, 1], [1, 2, 3])).toMatchObject({ score: null });
});

test("a correlation with nobody is refused", () => {
  expect(() => correlation({} as never)).toThrow(/scorer: is required/);
});
