/** JSON text that was found to be valid and is passed on as it is, without being parsed and printed again. */
export type RawJson = string & { readonly [raw]: true };

declare const raw: unique symbol;

/** A value as JSON text; for what is made here and goes out with text that was passed on. */
export function toRaw(value: unknown): RawJson {
  // What most lines are made of needs no printer.
  if (value === null) return "null" as RawJson;
  if (typeof value === "string" && value.length <= shortText && isPlain(value)) return `"${value}"` as RawJson;
  if (typeof value === "number" && Number.isFinite(value)) return String(value) as RawJson;
  return (JSON.stringify(value) ?? "null") as RawJson;
}

/** Whether a text stands in JSON as it is. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 32 || code > 126 || code === quote || code === backslash) return false;
  }
  return true;
}

/** The value of JSON text that was found to be valid. */
export function parseRaw(text: RawJson): unknown {
  return JSON.parse(text) as unknown;
}

const [quote, backslash] = [34, 92];
const shortText = 64;
