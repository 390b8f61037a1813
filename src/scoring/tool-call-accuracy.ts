import { z } from "zod";
import { bestAlignment } from "./best-alignment.ts";
import { bestAssignment } from "./best-assignment.ts";
import { makeScorer, noMark } from "./make-scorer.ts";
import { readMadeCalls, readToolCalls, type ToolCall } from "./read-tool-calls.ts";
import type { Scorer, Verdict } from "./scorer.ts";
import { comparingShape, readOptions } from "./read-options.ts";
import type { ComparingOptions } from "./scorer-options.ts";
import { shown } from "./shown.ts";
import { likeness, type ArgsRule } from "./tool-call-likeness.ts";

export interface ToolCallAccuracyOptions extends ComparingOptions {
  /**
   * What the arguments of a call are worth. `partial`: half for the name, half for the share of arguments that are right;
   * `exact`: all or nothing; `subset`: all or nothing, more arguments than expected are well; `ignore`: names alone.
   * Partial unless told. A call that is expected without arguments may have any.
   */
  readonly args?: ArgsRule | undefined;
  /** Whether the calls must come in the expected order; any unless told. */
  readonly order?: "any" | "same" | undefined;
  /** Whether calls that nobody expected cost something; penalize unless told. */
  readonly extra?: "penalize" | "allow" | undefined;
}

const schema = z.strictObject({
  ...comparingShape,
  args: z.enum(["partial", "exact", "subset", "ignore"]).default("partial"),
  order: z.enum(["any", "same"]).default("any"),
  extra: z.enum(["penalize", "allow"]).default("penalize"),
});

// The assignment takes time with the third power.
const mostCalls = 500;

/** Marks how well the calls of tools are the expected ones, by the pairing of both that is worth the most. */
export function toolCallAccuracy(options: ToolCallAccuracyOptions = {}): Scorer {
  const { expected, args, order, extra, ...common } = readOptions("tool-call-accuracy", schema, options);
  const pair = order === "same" ? bestAlignment : bestAssignment;
  return makeScorer(common, "calls the expected tools", "tool-call-accuracy", (output, run) => {
    const wanted = readToolCalls(expected ? expected(run) : run.groundTruth);
    if (wanted === null) return noMark("the expected value is no list of tool calls");
    const made = readMadeCalls(output);
    if (made === null) return noMark("the output is no answer and no list of tool calls; `read` can find them in it");
    if (Math.max(wanted.length, made.length) > mostCalls) return noMark(`there are more than ${mostCalls} calls`);
    const values = wanted.map((want) => made.map((call) => likeness(want, call, args)));
    return describe(wanted, made, values, pair(values), extra === "penalize");
  });
}

function describe(
  wanted: readonly ToolCall[],
  made: readonly ToolCall[],
  values: readonly (readonly number[])[],
  given: readonly (number | null)[],
  hasPenalty: boolean,
): Verdict {
  const worth = given.map((column, row) => (column === null ? 0 : (values[row]?.[column] ?? 0)));
  const total = worth.reduce((sum, value) => sum + value, 0);
  const used = new Set(given.filter((column, row) => column !== null && (worth[row] ?? 0) > 0));
  const missing = wanted.filter((_, row) => worth[row] === 0).map(({ name }) => name);
  const wrong = wanted.filter((_, row) => (worth[row] ?? 0) > 0 && (worth[row] ?? 0) < 1);
  const extra = made.filter((_, column) => !used.has(column)).map(({ name }) => name);
  const count = hasPenalty ? wanted.length + extra.length : wanted.length;
  const reasons = [
    missing.length > 0 ? `missing: ${shown(missing.join(", "))}` : "",
    wrong.length > 0 ? `wrong arguments: ${shown(wrong.map(({ name }) => name).join(", "))}` : "",
    extra.length > 0 && hasPenalty ? `not expected: ${shown(extra.join(", "))}` : "",
  ].filter((reason) => reason !== "");
  return {
    score: count === 0 ? 1 : total / count,
    reason: reasons.length === 0 ? null : reasons.join("; "),
    metadata: { expected: wanted.length, made: made.length },
  };
}
