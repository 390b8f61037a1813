/** JSON text that was found to be valid and is passed on as it is, without being parsed and printed again. */
export type RawJson = string & { readonly [raw]: true };

declare const raw: unique symbol;

/** A value as JSON text; for what is made here and goes out with text that was passed on. */
export function toRaw(value: unknown): RawJson {
  // What most lines are made of needs no printer.
  if (value === null) return "null" as RawJson;
  if (typeof value === "string" && value.length <= shortText && plainText.test(value)) return `"${value}"` as RawJson;
  if (typeof value === "number" && Number.isFinite(value)) return String(value) as RawJson;
  return (JSON.stringify(value) ?? "null") as RawJson;
}

/** The value of JSON text that was found to be valid. */
export function parseRaw(text: RawJson): unknown {
  return JSON.parse(text) as unknown;
}

// A text of these stands in JSON as it is.
const plainText = /^[ !#-[\]-~]*$/;
const shortText = 64;
