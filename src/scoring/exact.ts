import { z } from "zod";
import { jsonDifference } from "./json-difference.ts";
import { makeScorer, noMark, passOrFail } from "./make-scorer.ts";
import type { Scorer } from "./scorer.ts";
import { comparingShape, readOptions } from "./read-options.ts";
import type { ComparingOptions } from "./scorer-options.ts";
import { shown } from "./shown.ts";
import { textOf } from "./text-of.ts";

export interface ExactOptions extends ComparingOptions {
  /** Leave out white space at both ends of texts; false unless told. */
  readonly trim?: boolean | undefined;
  /** Treat upper and lower case as the same; false unless told. */
  readonly ignoreCase?: boolean | undefined;
}

const schema = z.strictObject({
  ...comparingShape,
  trim: z.boolean().default(false),
  ignoreCase: z.boolean().default(false),
});

/** Marks 1 when the output is the expected text or the same JSON value, otherwise 0. */
export function exact(options: ExactOptions = {}): Scorer {
  const { expected, trim, ignoreCase, ...common } = readOptions("exact", schema, options);
  const settle = (text: string): string => {
    const ends = trim ? text.trim() : text;
    return ignoreCase ? ends.toLowerCase() : ends;
  };
  return makeScorer(common, "is the expected text or value", "exact", (output, run) => {
    const truth = expected ? expected(run) : run.groundTruth;
    if (truth === undefined) return noMark("the item has no ground truth");
    if (typeof truth === "string") {
      const text = textOf(output);
      const isAlike = text !== null && settle(text.normalize()) === settle(truth.normalize());
      const hint = isAlike
        ? "; they differ only in how Unicode writes their characters: compare after normalize()"
        : "";
      return passOrFail(
        text !== null && settle(text) === settle(truth),
        `expected ${shown(truth)}, got ${shown(text)}${hint}`,
      );
    }
    const difference = jsonDifference(truth, output);
    return passOrFail(difference === null, `${difference?.path || "the output"}: ${difference?.message ?? ""}`);
  });
}
