import { z } from "zod";
import { makeScorer, noMark, passOrFail } from "./make-scorer.ts";
import type { Scorer } from "./scorer.ts";
import { comparingShape, readOptions } from "./read-options.ts";
import type { ComparingOptions } from "./scorer-options.ts";
import { shown } from "./shown.ts";
import { textOf } from "./text-of.ts";

export interface IncludesOptions extends ComparingOptions {
  /** How many of the texts must be in the output; all unless told. */
  readonly match?: "all" | "any" | undefined;
  /** Treat upper and lower case as the same; false unless told. */
  readonly ignoreCase?: boolean | undefined;
}

const schema = z.strictObject({
  ...comparingShape,
  match: z.enum(["all", "any"]).default("all"),
  ignoreCase: z.boolean().default(false),
});

/** Marks 1 when the output holds the expected text, or all or any of several, otherwise 0. */
export function includes(options: IncludesOptions = {}): Scorer {
  const { expected, match, ignoreCase, ...common } = readOptions("includes", schema, options);
  const settle = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  return makeScorer(common, "holds the expected texts", "includes", (output, run) => {
    const wanted = textsOf(expected ? expected(run) : run.groundTruth);
    if (wanted === null) return noMark("the expected value is neither a text nor a list of texts");
    const text = textOf(output);
    if (text === null) return passOrFail(false, "the output holds no text");
    const held = settle(text);
    const missing = wanted.filter((part) => !held.includes(settle(part)));
    const hasPassed = match === "all" ? missing.length === 0 : missing.length < wanted.length;
    return passOrFail(
      hasPassed,
      `does not hold ${missing.map((part) => shown(part)).join(match === "all" ? ", " : " or ")}`,
    );
  });
}

function textsOf(value: unknown): readonly string[] | null {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.length > 0 && list.every((item) => typeof item === "string") ? list : null;
}
