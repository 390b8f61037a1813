import { readNumber, readText } from "../targets/read-field.ts";
import type { ErrorDetails } from "../summary.ts";

const longestStack = 8000;

/** What a thrown value says beside its message; null when it says nothing. */
export function readErrorDetails(thrown: unknown): ErrorDetails | null {
  if (typeof thrown !== "object" || thrown === null) return null;
  return {
    name: readText(thrown, "name"),
    code: readText(thrown, "code"),
    status: readNumber(thrown, "status", "statusCode"),
    stack: readText(thrown, "stack")?.slice(0, longestStack) ?? null,
  };
}
