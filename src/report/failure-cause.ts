import { plainText } from "../base/terminal-text.ts";

// A cause shows itself early in a line; what follows is only cost.
const longestLine = 500;
const longestCause = 200;

const quoted = /"[^"]*"|`[^`]*`|“[^”]*”|‘[^’]*’|«[^»]*»/g;
// An apostrophe inside or behind a word is no quotation mark.
const singleQuoted = /(?<!\w)'[^']*'(?!\w)/g;
const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;
const longHex = /\b(?:0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{8,})\b/gi;
const decimal = /\d+(?:[.,:]\d+)*/g;

/** What messages with the same cause have in common: their first line without its numbers and quoted parts. */
export function causeOf(message: string): string {
  const line = message
    .slice(0, longestLine)
    .split(/[\r\n]/)
    .map(plainText)
    .find((text) => text.trim() !== "");
  return (line ?? "")
    .trim()
    .replace(quoted, '"…"')
    .replace(singleQuoted, '"…"')
    .replace(uuid, "#")
    .replace(longHex, "#")
    .replace(decimal, "#")
    .slice(0, longestCause);
}
