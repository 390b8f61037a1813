import { z } from "zod";
import { RolloutError, messageOf } from "../base/rollout-error.ts";
import { makeScorer, passOrFail } from "./make-scorer.ts";
import type { Scorer } from "./scorer.ts";
import { readOptions, scorerShape } from "./read-options.ts";
import type { ScorerOptions } from "./scorer-options.ts";
import { shown } from "./shown.ts";
import { textOf } from "./text-of.ts";

export interface RegexOptions extends ScorerOptions {
  /** What the text of the output must match somewhere; anchor it with `^` and `$` to match the whole. */
  readonly pattern: RegExp | string;
  /** Flags for a pattern that is a text. */
  readonly flags?: string | undefined;
}

const schema = z.strictObject({
  ...scorerShape,
  pattern: z.union([z.instanceof(RegExp), z.string().min(1)]),
  flags: z.string().optional(),
});

/** Marks 1 when the text of the output matches the pattern, otherwise 0. */
export function regex(options: RegexOptions): Scorer {
  const { pattern, flags, ...common } = readOptions("regex", schema, options);
  const compiled = compile(pattern, flags);
  return makeScorer(common, `matches ${compiled}`, "regex", (output) => {
    const text = textOf(output);
    return passOrFail(text !== null && compiled.test(text), `${shown(text)} does not match ${compiled}`);
  });
}

// Of our own, and without the flags that make a match depend on the one before.
function compile(pattern: RegExp | string, flags: string | undefined): RegExp {
  if (typeof pattern !== "string" && flags !== undefined)
    throw new RolloutError("usage_invalid", 'the scorer "regex" takes flags only beside a pattern that is a text');
  const wanted = typeof pattern === "string" ? (flags ?? "") : pattern.flags;
  try {
    return new RegExp(typeof pattern === "string" ? pattern : pattern.source, wanted.replaceAll(/[gy]/g, ""));
  } catch (error) {
    throw new RolloutError("usage_invalid", `the pattern of the scorer "regex" is wrong: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
