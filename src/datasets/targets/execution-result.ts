import type { ExecutionResult } from "./target.ts";

/** What a call came to that answered. */
export function answered(
  output: unknown,
  { error = null, traceId = null, scorerInput, scorerOutput, usage = null }: Partial<ExecutionResult> = {},
): ExecutionResult {
  return { output, error, traceId, scorerInput, scorerOutput, usage };
}

/** What a call came to that failed. */
export function failed(message: string, thrown: unknown): ExecutionResult {
  return answered(null, { error: { message: message === "" ? "it failed without a message" : message, thrown } });
}
