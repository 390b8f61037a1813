import { messageOf } from "../base/rollout-error.ts";

const longest = 80;

/** A value in a few words, for a reason that people read. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") return JSON.stringify(shortened(value));
  return shortened(messageOf(value));
}

function shortened(text: string): string {
  if (text.length <= longest) return text;
  // A pair of surrogates is not cut in two.
  return `${text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
