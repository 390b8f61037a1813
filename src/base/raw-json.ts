/** JSON text that was found to be valid and is passed on as it is, without being parsed and printed again. */
export type RawJson = string & { readonly [raw]: true };

declare const raw: unique symbol;

/** The members of a JSON object as they are written; null when the text is no JSON object. The last of two equal names counts. */
export function scanObject(text: string): Map<string, RawJson> | null {
  const found = scanObjectAt(text, afterSpace(text, 0));
  return found !== null && afterSpace(text, found.end) === text.length ? found.members : null;
}

/** The same of an object that begins at a place, whatever comes after it. */
export function scanObjectAt(
  text: string,
  start: number,
): { readonly members: Map<string, RawJson>; readonly end: number } | null {
  if (text.charCodeAt(start) !== openBrace) return null;
  look(text);
  const members = new Map<string, RawJson>();
  const end = skipObject(text, start, 1, members);
  return end === -1 ? null : { members, end };
}

/** A value as JSON text; for what is made here and goes out with text that was passed on. */
export function toRaw(value: unknown): RawJson {
  // What most lines are made of needs no printer.
  if (value === null) return "null" as RawJson;
  if (typeof value === "string" && value.length <= shortText && isPlain(value)) return `"${value}"` as RawJson;
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

const [quote, backslash, comma, colon] = [34, 92, 44, 58];
const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93];
const deepest = 1000;
const shortText = 64;
const longText = 512;
const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code));

// Whether the text that is being scanned is long and has no control characters, which strings may not hold. Looking for
// one character in a whole text is so much faster than looking at each that 32 such looks are worth it.
let canJump = false;
let looked = "";

function look(text: string): void {
  if (text === looked) return;
  looked = text;
  canJump = text.length >= longText && !controls.some((sign) => text.includes(sign));
}

// Every function below takes where something begins and gives where it ends, or -1 when it is not JSON. Codes of
// characters and plain functions: with patterns or an object this takes longer than parsing.

function skipObject(text: string, start: number, depth: number, members: Map<string, RawJson> | null): number {
  if (depth > deepest) return -1;
  let at = afterSpace(text, start + 1);
  if (text.charCodeAt(at) === closeBrace) return at + 1;
  for (;;) {
    const nameEnd = skipString(text, at);
    if (nameEnd === -1) return -1;
    const colonAt = afterSpace(text, nameEnd);
    if (text.charCodeAt(colonAt) !== colon) return -1;
    const from = afterSpace(text, colonAt + 1);
    const end = skipValue(text, from, depth);
    if (end === -1) return -1;
    members?.set(nameOf(text.slice(at, nameEnd)), text.slice(from, end) as RawJson);
    at = afterSpace(text, end);
    const code = text.charCodeAt(at);
    if (code === closeBrace) return at + 1;
    if (code !== comma) return -1;
    at = afterSpace(text, at + 1);
  }
}

function skipArray(text: string, start: number, depth: number): number {
  if (depth > deepest) return -1;
  let at = afterSpace(text, start + 1);
  if (text.charCodeAt(at) === closeBracket) return at + 1;
  for (;;) {
    const end = skipValue(text, at, depth);
    if (end === -1) return -1;
    at = afterSpace(text, end);
    const code = text.charCodeAt(at);
    if (code === closeBracket) return at + 1;
    if (code !== comma) return -1;
    at = afterSpace(text, at + 1);
  }
}

function skipValue(text: string, at: number, depth: number): number {
  switch (text.charCodeAt(at)) {
    case quote:
      return skipString(text, at);
    case openBrace:
      return skipObject(text, at, depth + 1, null);
    case openBracket:
      return skipArray(text, at, depth + 1);
    case 116:
      return text.startsWith("true", at) ? at + 4 : -1;
    case 102:
      return text.startsWith("false", at) ? at + 5 : -1;
    case 110:
      return text.startsWith("null", at) ? at + 4 : -1;
    default:
      return skipNumber(text, at);
  }
}

function skipString(text: string, start: number): number {
  if (text.charCodeAt(start) !== quote) return -1;
  if (canJump) return jumpString(text, start);
  for (let at = start + 1; ; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at + 1;
    if (code === backslash) {
      at = skipEscape(text, at + 1);
      if (at === -1) return -1;
      // What is no number is the end of the text.
    } else if (!(code >= 32)) return -1;
  }
}

/** The same in a text without control characters: from quote to quote and from escape to escape. */
function jumpString(text: string, start: number): number {
  let at = start + 1;
  let end = text.indexOf('"', at);
  while (end !== -1) {
    const escape = end === at ? -1 : text.slice(at, end).indexOf("\\");
    if (escape === -1) return end + 1;
    const last = skipEscape(text, at + escape + 1);
    if (last === -1) return -1;
    at = last + 1;
    if (at > end) end = text.indexOf('"', at);
  }
  return -1;
}

/** Where the last character of an escape stands. */
function skipEscape(text: string, at: number): number {
  const sign = text.charAt(at);
  if (sign !== "" && '"\\/bfnrt'.includes(sign)) return at;
  return sign === "u" && /^[0-9a-fA-F]{4}$/.test(text.slice(at + 1, at + 5)) ? at + 4 : -1;
}

function skipNumber(text: string, start: number): number {
  let at = text.charCodeAt(start) === 45 ? start + 1 : start;
  if (text.charCodeAt(at) === 48) at++;
  else {
    const end = skipDigits(text, at);
    if (end === at) return -1;
    at = end;
  }
  if (text.charCodeAt(at) === 46) {
    const end = skipDigits(text, at + 1);
    if (end === at + 1) return -1;
    at = end;
  }
  const code = text.charCodeAt(at);
  if (code !== 101 && code !== 69) return at;
  const sign = text.charCodeAt(at + 1);
  const from = sign === 43 || sign === 45 ? at + 2 : at + 1;
  const end = skipDigits(text, from);
  return end === from ? -1 : end;
}

function skipDigits(text: string, start: number): number {
  let at = start;
  for (let code = text.charCodeAt(at); code >= 48 && code <= 57; code = text.charCodeAt(at)) at++;
  return at;
}

function afterSpace(text: string, start: number): number {
  let at = start;
  for (
    let code = text.charCodeAt(at);
    code === 32 || code === 10 || code === 13 || code === 9;
    code = text.charCodeAt(at)
  )
    at++;
  return at;
}

function nameOf(literal: string): string {
  return literal.includes("\\") ? (JSON.parse(literal) as string) : literal.slice(1, -1);
}
