import { plainText } from "../base/terminal-text.ts";
import type { Failure } from "./run.ts";

// The beginning of a message identifies it. Longer texts cost time only.
const maxMessageLength = 1000;
const maxLineLength = 160;

// In this order: a quoted text can contain a path, a path can contain a number.
const variableParts: readonly (readonly [RegExp, string])[] = [
  [/"[^"]*"|`[^`]*`|“[^”]*”|‘[^’]*’|«[^»]*»/g, "…"],
  // An apostrophe inside or after a word is not a quotation mark.
  [/(?<!\w)'[^']*'(?!\w)/g, "…"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, "<time>"],
  [/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, "<url>"],
  [/(?:\.{0,2}\/)[\w.@%+~-]+(?:\/[\w.@%+~-]*)*/g, "<path>"],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<uuid>"],
  [/\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b/gi, "<hex>"],
  [/\d+(?:[.,:]\d+)*/g, "<n>"],
];

/** Returns a text that is equal for failures that differ only in numbers, ids, paths, quoted text and times. */
export function fingerprintOf({ type, phase, message }: Pick<Failure, "type" | "phase" | "message">): string {
  let line = firstLineOf(message.slice(0, maxMessageLength));
  for (const [pattern, replacement] of variableParts) line = line.replace(pattern, replacement);
  return `${type}|${phase ?? ""}|${line.trim().slice(0, maxLineLength)}`;
}

/** Returns the first line that is not blank, without terminal escapes. */
function firstLineOf(text: string): string {
  const lines = text.split(/[\r\n]/).map((line) => plainText(line).trim());
  return lines.find((line) => line !== "") ?? "";
}
