import type { Failure } from "../store/run.ts";

/** Returns the cause of a failure where it is worth a word: outside of what was measured. */
export function originOf({ cause }: Pick<Failure, "cause">): "infrastructure" | "configuration" | null {
  return cause === "infrastructure" || cause === "configuration" ? cause : null;
}
