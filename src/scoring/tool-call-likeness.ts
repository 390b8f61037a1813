import { isRecord } from "./is-record.ts";
import { jsonDifference } from "./json-difference.ts";
import type { ToolCall } from "./read-tool-calls.ts";

/** What the arguments of a call are worth. */
export type ArgsRule = "partial" | "exact" | "subset" | "ignore";

/** How much of an expected call another call is, from 0 to 1; calls of different tools have nothing in common. */
export function likeness(expected: ToolCall, made: ToolCall, rule: ArgsRule): number {
  if (expected.name !== made.name) return 0;
  if (rule === "ignore" || expected.args === undefined) return 1;
  const args = made.args ?? {};
  if (rule === "partial") return 0.5 + 0.5 * shareOf(expected.args, args);
  return (rule === "exact" ? isSame(expected.args, args) : isPart(expected.args, args)) ? 1 : 0;
}

function isSame(expected: unknown, made: unknown): boolean {
  return jsonDifference(expected, made) === null;
}

function isPart(expected: unknown, made: unknown): boolean {
  if (!isRecord(expected) || !isRecord(made)) return isSame(expected, made);
  return Object.keys(expected).every((key) => isSame(expected[key], made[key]));
}

function shareOf(expected: unknown, made: unknown): number {
  if (!isRecord(expected) || !isRecord(made)) return isSame(expected, made) ? 1 : 0;
  const keys = new Set([...Object.keys(expected), ...Object.keys(made)]);
  const right = [...keys].filter((key) => isSame(expected[key], made[key])).length;
  return keys.size === 0 ? 1 : right / keys.size;
}
