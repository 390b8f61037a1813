import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { macroF1 } from "./macro-f1.ts";
import type { DatasetScorer, ScoredItem, Verdict } from "./scorer.ts";

async function mark(scorer: DatasetScorer, items: readonly Partial<ScoredItem>[]): Promise<Verdict> {
  const plain = { input: "", output: null, itemId: "1", metadata: {}, durationMs: 0, usage: null, error: null };
  async function* all(): AsyncIterable<ScoredItem> {
    for (const item of items) yield { ...plain, repeat: 0, scores: {}, ...item };
  }
  return await scorer.runDataset({ items: all(), signal: new AbortController().signal });
}

describe("macro F1", () => {
  test("is the mean of the F1 of each label, with accuracy beside it", async () => {
    const items = [
      { output: "Spam", groundTruth: "spam" },
      { output: "spam", groundTruth: "ham" },
      { output: "ham\n", groundTruth: "ham" },
      { output: "ham", groundTruth: "ham" },
    ];
    const verdict = await mark(macroF1(), items);
    expect(verdict.score).toBeCloseTo((2 / 3 + 0.8) / 2, 12);
    expect(verdict.reason).toBe('the worst label is "spam" with 0.667');
    expect(verdict.metadata).toMatchObject({
      accuracy: 0.75,
      labels: [{ label: "spam", precision: 0.5, recall: 1 }, { label: "ham" }],
    });
  });

  test("counts an item that failed as wrong and leaves out one without ground truth", async () => {
    const items = [{ output: "a", groundTruth: "a" }, { error: "boom", groundTruth: "a" }, { output: "a" }];
    expect((await mark(macroF1(), items)).score).toBeCloseTo(2 / 3, 12);
    expect(await mark(macroF1(), [{ output: "a" }])).toEqual({ score: null, reason: "no item has a ground truth" });
  });

  test("gives no mark when the outputs are no labels", async () => {
    const items = Array.from({ length: 1001 }, (_, index) => ({ output: `text ${index}`, groundTruth: "a" }));
    expect(await mark(macroF1(), items)).toMatchObject({ score: null });
  });

  test("is between 0 and 1, and 1 only when every label is right", async () => {
    const label = fc.constantFrom("a", "b", "c");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ output: label, groundTruth: label }), { minLength: 1 }), async (items) => {
        const { score } = await mark(macroF1(), items);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
        expect(score === 1).toBe(items.every(({ output, groundTruth }) => output === groundTruth));
      }),
    );
  });
});
