import { z } from "zod";
import { jsonDifference } from "./json-difference.ts";
import { jsonValueOf } from "./json-value-of.ts";
import { makeScorer, noMark, passOrFail } from "./make-scorer.ts";
import type { Scorer } from "./scorer.ts";
import { comparingShape, readOptions } from "./read-options.ts";
import type { ComparingOptions } from "./scorer-options.ts";

const schema = z.strictObject(comparingShape);

/** Marks 1 when the output, parsed if it is a text, is the expected JSON value, otherwise 0 with the first path that differs. */
export function jsonEquals(options: ComparingOptions = {}): Scorer {
  const { expected, ...common } = readOptions("json-equals", schema, options);
  return makeScorer(common, "is the expected JSON value", "json-equals", (output, run) => {
    const truth = expected ? expected(run) : run.groundTruth;
    if (truth === undefined) return noMark("the item has no ground truth");
    const found = jsonValueOf(output);
    if (!found.isJson) return passOrFail(false, found.reason);
    const wanted = jsonValueOf(truth);
    // A ground truth that is a text and no JSON is a JSON text itself.
    const difference = jsonDifference(wanted.isJson ? wanted.value : truth, found.value);
    return passOrFail(difference === null, `${difference?.path || "the output"}: ${difference?.message ?? ""}`);
  });
}
