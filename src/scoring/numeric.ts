import { z } from "zod";
import { findNumber } from "./find-number.ts";
import { makeScorer, noMark, passOrFail } from "./make-scorer.ts";
import type { Scorer } from "./scorer.ts";
import { comparingShape, readOptions } from "./read-options.ts";
import type { ComparingOptions } from "./scorer-options.ts";
import { shown } from "./shown.ts";
import { textOf } from "./text-of.ts";

export interface NumericOptions extends ComparingOptions {
  /** How far off the number may be; 0 unless told. */
  readonly absolute?: number | undefined;
  /** How far off it may be as a share of the expected number; 0 unless told. The larger allowance counts. */
  readonly relative?: number | undefined;
  /** Which number to take from a text that holds more than a number; without it such a text is marked 0. */
  readonly find?: "first" | "last" | undefined;
}

const allowance = z.number().nonnegative().default(0);
const schema = z.strictObject({
  ...comparingShape,
  absolute: allowance,
  relative: allowance,
  find: z.enum(["first", "last"]).optional(),
});

/** Marks 1 when the output is the expected number within a tolerance, otherwise 0. */
export function numeric(options: NumericOptions = {}): Scorer {
  const { expected, absolute, relative, find, ...common } = readOptions("numeric", schema, options);
  return makeScorer(common, "is the expected number", "numeric", (output, run) => {
    const truth = numberOf(expected ? expected(run) : run.groundTruth);
    if (truth === null) return noMark("the expected value is not a number");
    const value = numberOf(output, find);
    if (value === null) {
      const hint = numberOf(output, "first") === null ? "" : '; to take one out of a text, set find: "first" or "last"';
      return passOrFail(false, `found no number in ${shown(textOf(output))}${hint}`);
    }
    const allowed = Math.max(absolute, relative * Math.abs(truth));
    const distance = Math.abs(value - truth);
    // Rounding of the subtraction is not the fault of the number.
    const rounding = Number.EPSILON * 4 * Math.max(Math.abs(value), Math.abs(truth));
    return {
      ...passOrFail(distance <= allowed + (allowed === 0 ? 0 : rounding), `${value} is ${distance} away from ${truth}`),
      metadata: { value },
    };
  });
}

function numberOf(value: unknown, find?: "first" | "last"): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  const text = textOf(value);
  return text === null ? null : findNumber(text, find ?? "whole");
}
