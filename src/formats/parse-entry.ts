import { positionAt } from "../base/problem.ts";
import { messageOf } from "../base/rollout-error.ts";
import { findJsonError, type JsonError } from "./find-json-error.ts";
import { findLossyJson } from "./find-lossy-json.ts";
import type { SourceEntry } from "./source-entry.ts";

/** The JSON value in a part of a file, or where in the file it is none. */
export function parseEntry(text: string, line: number, column: number): SourceEntry {
  const problemAt = ({ offset, message }: JsonError): SourceEntry => {
    const place = positionAt(text, offset);
    const from = place.line === 1 ? column - 1 : 0;
    return { line: line + place.line - 1, column: from + place.column, problem: message };
  };
  // First, for what is nested too deeply overflows the stack of whoever looks at it.
  const lossy = findLossyJson(text);
  if (lossy !== null) return problemAt(lossy);
  try {
    return { line, column, value: JSON.parse(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) return { line, column, problem: messageOf(error) };
    return problemAt(findJsonError(text));
  }
}
