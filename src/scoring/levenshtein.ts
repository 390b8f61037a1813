import { z } from "zod";
import { editDistance } from "./edit-distance.ts";
import { makeScorer, noMark } from "./make-scorer.ts";
import type { Scorer } from "./scorer.ts";
import { comparingShape, readOptions } from "./read-options.ts";
import type { ComparingOptions } from "./scorer-options.ts";
import { textOf } from "./text-of.ts";

export interface LevenshteinOptions extends ComparingOptions {
  /** Treat upper and lower case as the same; false unless told. */
  readonly ignoreCase?: boolean | undefined;
  /** Longer texts get no mark, for the work grows with the product of both lengths; 100,000 unless told. */
  readonly maxLength?: number | undefined;
}

const schema = z.strictObject({
  ...comparingShape,
  ignoreCase: z.boolean().default(false),
  maxLength: z.int().positive().default(100_000),
});

/** Marks how alike the output and the expected text are: 1 for the same, 0 for nothing in common, by code points. */
export function levenshtein(options: LevenshteinOptions = {}): Scorer {
  const { expected, ignoreCase, maxLength, ...common } = readOptions("levenshtein", schema, options);
  const settle = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  return makeScorer(common, "is like the expected text", "levenshtein", async (output, run) => {
    const truth = textOf(expected ? expected(run) : run.groundTruth);
    if (truth === null) return noMark("the item has no ground truth");
    const text = textOf(output) ?? "";
    const longest = Math.max(text.length, truth.length);
    if (longest > maxLength) return noMark(`a text of ${longest} characters is longer than ${maxLength}`);
    const [from, to] = [settle(text), settle(truth)];
    const length = Math.max(lengthOf(from), lengthOf(to));
    if (length === 0) return { score: 1, reason: null };
    const distance = await editDistance(from, to, run.signal);
    return {
      score: 1 - distance / length,
      reason: `${distance} of ${length} characters differ`,
      metadata: { distance },
    };
  });
}

function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}
