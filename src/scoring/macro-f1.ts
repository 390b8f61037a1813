import { z } from "zod";
import { noMark } from "./make-scorer.ts";
import type { DatasetScorer, ScoredItem, Verdict } from "./scorer.ts";
import { readOptions } from "./read-options.ts";
import { textOf } from "./text-of.ts";

export interface MacroF1Options {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** The label that was given, when it is not the text of the output. */
  readonly read?: ((item: ScoredItem) => unknown) | undefined;
  /** The right label, when it is not the item's ground truth. */
  readonly expected?: ((item: ScoredItem) => unknown) | undefined;
}

const functionOfItem = z.custom<(item: ScoredItem) => unknown>(
  (value) => typeof value === "function",
  "must be a function",
);
const schema = z.strictObject({
  id: z.string().min(1).default("macro-f1"),
  name: z.string().min(1).optional(),
  read: functionOfItem.optional(),
  expected: functionOfItem.optional(),
});

interface Count {
  right: number;
  given: number;
  expected: number;
}

// More are no labels, but free text.
const mostLabels = 1000;

/** Marks a run as a classifier: the mean of the F1 of each label. An item that failed is a wrong answer; white space and case do not count. */
export function macroF1(options: MacroF1Options = {}): DatasetScorer {
  const { id, name, read, expected } = readOptions("macro-f1", schema, options);
  return {
    id,
    name,
    runDataset: async ({ items, signal }) => {
      const counts = new Map<string, Count>();
      let [seen, right] = [0, 0];
      for await (const item of items) {
        signal.throwIfAborted();
        const truth = labelOf(expected ? expected(item) : item.groundTruth);
        if (truth === null) continue;
        const given = item.error === null ? labelOf(read ? read(item) : item.output) : null;
        seen++;
        countOf(counts, truth).expected++;
        if (given !== null) countOf(counts, given).given++;
        if (given === truth) {
          right++;
          countOf(counts, truth).right++;
        }
        if (counts.size > mostLabels) return noMark(`there are more than ${mostLabels} labels`);
      }
      return seen === 0 ? noMark("no item has a ground truth") : describe(counts, right / seen);
    },
  };
}

function labelOf(value: unknown): string | null {
  return textOf(value)?.trim().toLowerCase() ?? null;
}

function countOf(counts: Map<string, Count>, label: string): Count {
  let count = counts.get(label);
  if (!count) counts.set(label, (count = { right: 0, given: 0, expected: 0 }));
  return count;
}

function describe(counts: ReadonlyMap<string, Count>, accuracy: number): Verdict {
  const labels = [...counts].map(([label, { right, given, expected }]) => ({
    label,
    precision: given === 0 ? null : right / given,
    recall: expected === 0 ? null : right / expected,
    f1: (2 * right) / (given + expected),
  }));
  const score = labels.reduce((sum, { f1 }) => sum + f1, 0) / labels.length;
  const worst = labels.toSorted((a, b) => a.f1 - b.f1)[0];
  const reason =
    worst === undefined || worst.f1 === 1 ? null : `the worst label is "${worst.label}" with ${worst.f1.toFixed(3)}`;
  return { score, reason, metadata: { accuracy, labels } };
}
