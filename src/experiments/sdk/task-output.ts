import type { JsonObject } from "../../base/json.ts";

// An experiment may bring its own copy of this package.
const brand = Symbol.for("rollout-eval.TaskOutput");

interface TaskOutput {
  readonly [brand]: JsonObject;
  readonly output: unknown;
}

/** An output of a task together with what is worth knowing of how it came about; evaluators see both. */
export function withMetadata(output: unknown, metadata: JsonObject): unknown {
  return { [brand]: metadata, output } satisfies TaskOutput;
}

/** The output and the metadata of what a task answered. */
export function splitMetadata(answer: unknown): { readonly output: unknown; readonly metadata: unknown } {
  if (typeof answer !== "object" || answer === null || !(brand in answer)) return { output: answer, metadata: {} };
  const { output, [brand]: metadata } = answer as TaskOutput;
  return { output, metadata };
}
