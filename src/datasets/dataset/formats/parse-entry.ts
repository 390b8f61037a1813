import { positionAt } from "../../../base/problem.ts";
import { messageOf } from "../../../base/rollout-error.ts";
import { findJsonError } from "./find-json-error.ts";
import type { SourceEntry } from "./source-entry.ts";

/** The JSON value in a part of a file, or where in the file it is none. */
export function parseEntry(text: string, line: number, column: number): SourceEntry {
  try {
    return { line, column, value: JSON.parse(text) };
  } catch (error) {
    // Nested too deeply for the engine is no mistake of the text.
    if (!(error instanceof SyntaxError)) return { line, column, problem: messageOf(error) };
    const { offset, message } = findJsonError(text);
    const place = positionAt(text, offset);
    const from = place.line === 1 ? column - 1 : 0;
    return { line: line + place.line - 1, column: from + place.column, problem: message };
  }
}
