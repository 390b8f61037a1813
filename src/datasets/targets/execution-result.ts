import type { ExecutionResult } from "./target.ts";

/** What a call came to that answered. */
export function answered(output: unknown, more: Partial<ExecutionResult> = {}): ExecutionResult {
  return { output, error: null, traceId: null, scorerInput: undefined, scorerOutput: undefined, usage: null, ...more };
}

/** What a call came to that failed. */
export function failed(message: string, thrown: unknown): ExecutionResult {
  return answered(null, { error: { message: message === "" ? "it failed without a message" : message, thrown } });
}
