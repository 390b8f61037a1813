import { z } from "zod";
import type { Pair } from "../../analysis/cohens-kappa.ts";
import { spearman } from "../../analysis/spearman.ts";
import type { DatasetScorer, ScoredItem } from "../../scoring/scorer.ts";
import { readOptions } from "../../scoring/read-options.ts";

export interface CorrelationOptions {
  /** The id of the scorer whose scores are compared. */
  readonly scorer: string;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** The number to compare with, when it is not the item's ground truth; items without one are left out. */
  readonly expected?: ((item: ScoredItem) => unknown) | undefined;
}

const schema = z.strictObject({
  scorer: z.string().min(1),
  id: z.string().min(1).optional(),
  name: z.string().min(1).optional(),
  expected: z
    .custom<(item: ScoredItem) => unknown>((value) => typeof value === "function", "must be a function")
    .optional(),
});

/** Marks a run by whether a scorer puts its items in the expected order: Spearman's correlation, from -1 to 1. */
export function correlation(options: CorrelationOptions): DatasetScorer {
  const { scorer, name, expected, ...given } = readOptions("correlation", schema, options);
  const id = given.id ?? `${scorer}-correlation`;
  return {
    id,
    name,
    runDataset: async ({ items, signal }) => {
      const pairs: Pair<number>[] = [];
      for await (const item of items) {
        signal.throwIfAborted();
        const score = item.scores[scorer];
        const truth = expected ? expected(item) : item.groundTruth;
        if (typeof score === "number" && typeof truth === "number" && Number.isFinite(truth))
          pairs.push([score, truth]);
      }
      const score = spearman(pairs);
      const reason = `${pairs.length} items have a score of "${scorer}" and a number to compare it with`;
      return { score, reason: score === null ? `${reason}; they say nothing about an order` : reason };
    },
  };
}
