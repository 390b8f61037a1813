import { readField, readNumber, readText } from "../targets/read-field.ts";
import type { ErrorDetails } from "../summary.ts";

const longestStack = 8000;

/** What a thrown value says beside its message; null when it says nothing. */
export function readErrorDetails(thrown: unknown): ErrorDetails | null {
  if (typeof thrown !== "object" || thrown === null) return null;
  return {
    name: readText(thrown, "name"),
    code: firstOf(thrown, (error) => readText(error, "code")),
    status: firstOf(thrown, (error) => readNumber(error, "status", "statusCode")),
    stack: readText(thrown, "stack")?.slice(0, longestStack) ?? null,
  };
}

/** What the error itself says, or the nearest of its causes that says it. */
function firstOf<T>(thrown: unknown, read: (error: unknown) => T | null): T | null {
  for (let error = thrown, depth = 0; error !== undefined && error !== null && depth < 8; depth++) {
    const found = read(error);
    if (found !== null) return found;
    error = readField(error, "cause");
  }
  return null;
}
