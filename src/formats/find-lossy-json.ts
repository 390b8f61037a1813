import type { JsonError } from "./find-json-error.ts";

const deepest = 500;
const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{}]/g;
// Sixteen digits may be more than a number holds, an exponent of three digits larger than any.
const suspicious = /\d{16}|\d[eE]\+?\d{3}/;

/** The first part of a JSON text that would not come back as it stands: numbers beyond what a number holds, and what is too deep. */
export function findLossyJson(text: string): JsonError | null {
  if (!suspicious.test(text) && !mayBeDeep(text)) return null;
  let depth = 0;
  for (const { 0: part, index: offset } of text.matchAll(token)) {
    if (part === "{" || part === "[") {
      if (++depth > deepest) return { offset, message: `it is nested deeper than ${deepest} levels` };
    } else if (part === "}" || part === "]") depth--;
    else if (!part.startsWith('"') && !isKept(part)) {
      return {
        offset,
        message: `the number ${shorten(part)} would lose digits; write it as a text: "${shorten(part)}"`,
      };
    }
  }
  return null;
}

function isKept(part: string): boolean {
  const value = Number(part);
  if (!Number.isFinite(value)) return false;
  // Digits that are written again as they stand are not lost, whatever number stands for them.
  return !/^-?\d+$/.test(part) || String(value) === part || BigInt(value) === BigInt(part);
}

function mayBeDeep(text: string): boolean {
  return text.length > deepest && (text.match(/[[{]/g)?.length ?? 0) > deepest;
}

function shorten(part: string): string {
  return part.length > 40 ? `${part.slice(0, 40)}…` : part;
}
