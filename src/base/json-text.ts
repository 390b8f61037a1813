import { isAscii } from "node:buffer";
import { RawMembers } from "./raw-members.ts";
import type { RawJson } from "./raw-json.ts";

const [quote, backslash, comma, colon] = [34, 92, 44, 58];
const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93];
const lineEnd = 10;
const deepest = 1000;
const longString = 512;
const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).filter((sign) => sign !== "\n");
const nonFiniteTokens = ["NaN", "Infinity", "-Infinity"];
const escapes = new Set(Buffer.from('"\\/bfnrt'));

/**
 * Bytes in which JSON objects are found without being parsed. Bytes are looked at one by one, for that is faster than a
 * text's characters; what is looked for over a long way is looked for in a text of as many characters, which is faster still.
 */
export class JsonText {
  readonly #bytes: Buffer;
  readonly #signs: string;
  readonly #isAscii: boolean;
  /** A line end is space where a value may stand on several lines; in a row of lines it is the end of one. */
  readonly #breakSign: number;
  #canJump: boolean | null = null;
  /** Where NaN and infinities stand in the member that is being scanned; null where only JSON is accepted. */
  #nonFinite: number[] | null = null;
  #isTooDeep = false;
  #escapeAt = -1;

  private constructor(bytes: Buffer, breakSign: number) {
    this.#bytes = bytes;
    this.#signs = bytes.toString("latin1");
    this.#isAscii = isAscii(bytes);
    this.#breakSign = breakSign;
  }

  /** Lines, each with its end; the bytes must stay as they are for as long as lines are looked at. */
  static ofLines(bytes: Buffer): JsonText {
    return new JsonText(bytes, -1);
  }

  /** A text of its own, from 0 to `length`. */
  static of(text: string): JsonText {
    // With a byte behind it that is no JSON, nobody has to look where the end is.
    return new JsonText(Buffer.from(`${text}\0`), lineEnd);
  }

  get length(): number {
    return this.#bytes.length - 1;
  }

  slice(from: number, to: number): string {
    return this.#isAscii ? this.#signs.slice(from, to) : this.#bytes.toString("utf8", from, to);
  }

  /** Where a character of ASCII stands next; -1 when it does not before `to`. */
  find(sign: string, from: number, to = this.#bytes.length): number {
    const at = this.#signs.indexOf(sign, from);
    return at < to ? at : -1;
  }

  /** The members of the object that stands alone between two places; null when none does. */
  scanObject(from: number, to: number): RawMembers | null {
    const found = new RawMembers();
    const end = this.scanObjectAt(afterSpace(this.#bytes, from, this.#breakSign), found);
    return end !== -1 && afterSpace(this.#bytes, end, this.#breakSign) === to ? found : null;
  }

  /** Collects the members of an object that begins at a place, and gives where it ends; -1 when none does. */
  scanObjectAt(start: number, found: RawMembers): number {
    return this.#bytes[start] === openBrace ? this.#skipObject(this.#bytes, start, 1, found) : -1;
  }

  /** The same for an object whose members may be flawed: see `MemberFlaw`. */
  scanFlawedObjectAt(start: number, found: RawMembers): number {
    this.#nonFinite = [];
    this.#isTooDeep = false;
    try {
      return this.scanObjectAt(start, found);
    } finally {
      this.#nonFinite = null;
    }
  }

  // Every function below takes where something begins and gives where it ends, or -1 when it is not JSON. The bytes are
  // handed on, for that is faster than finding them again each time.

  #skipObject(bytes: Buffer, start: number, depth: number, found: RawMembers | null): number {
    if (depth > deepest) return this.#failTooDeep();
    const breakSign = this.#breakSign;
    let at = afterSpace(bytes, start + 1, breakSign);
    if (bytes[at] === closeBrace) return at + 1;
    for (;;) {
      const nameEnd = this.#skipString(bytes, at);
      if (nameEnd === -1) return -1;
      const colonAt = afterSpace(bytes, nameEnd, breakSign);
      if (bytes[colonAt] !== colon) return -1;
      const from = afterSpace(bytes, colonAt + 1, breakSign);
      let end = this.#skipValue(bytes, from, depth);
      if (found !== null) {
        const name = nameOf(this.slice(at + 1, nameEnd - 1));
        if (this.#nonFinite !== null) end = this.#addFlawed(bytes, found, name, from, end);
        else if (end !== -1) found.add(name, this.slice(from, end) as RawJson);
      }
      if (end === -1) return -1;
      at = afterSpace(bytes, end, breakSign);
      const code = bytes[at];
      if (code === closeBrace) return at + 1;
      if (code !== comma) return -1;
      at = afterSpace(bytes, at + 1, breakSign);
    }
  }

  #skipArray(bytes: Buffer, start: number, depth: number): number {
    if (depth > deepest) return this.#failTooDeep();
    let at = afterSpace(bytes, start + 1, this.#breakSign);
    if (bytes[at] === closeBracket) return at + 1;
    for (;;) {
      const end = this.#skipValue(bytes, at, depth);
      if (end === -1) return -1;
      at = afterSpace(bytes, end, this.#breakSign);
      const code = bytes[at];
      if (code === closeBracket) return at + 1;
      if (code !== comma) return -1;
      at = afterSpace(bytes, at + 1, this.#breakSign);
    }
  }

  #skipValue(bytes: Buffer, at: number, depth: number): number {
    switch (bytes[at]) {
      case quote:
        return this.#skipString(bytes, at);
      case openBrace:
        return this.#skipObject(bytes, at, depth + 1, null);
      case openBracket:
        return this.#skipArray(bytes, at, depth + 1);
      case 116:
        return this.#signs.startsWith("true", at) ? at + 4 : -1;
      case 102:
        return this.#signs.startsWith("false", at) ? at + 5 : -1;
      case 110:
        return this.#signs.startsWith("null", at) ? at + 4 : -1;
      default:
        return this.#nonFinite === null ? skipNumber(bytes, at) : this.#skipAnyNumber(bytes, at, this.#nonFinite);
    }
  }

  #skipAnyNumber(bytes: Buffer, at: number, nonFinite: number[]): number {
    const token = nonFiniteTokens.find((one) => this.#signs.startsWith(one, at));
    if (token === undefined) return skipNumber(bytes, at);
    nonFinite.push(at, at + token.length);
    return at + token.length;
  }

  #failTooDeep(): -1 {
    this.#isTooDeep = true;
    return -1;
  }

  /** Adds a member that may be flawed, and gives where it ends. */
  #addFlawed(bytes: Buffer, found: RawMembers, name: string, from: number, end: number): number {
    const tokens = this.#nonFinite?.splice(0) ?? [];
    if (end === -1) {
      if (!this.#isTooDeep) return -1;
      this.#isTooDeep = false;
      found.addFlawed(name, "null" as RawJson, "too_deep");
      return this.#skipNested(bytes, from);
    }
    if (tokens.length === 0) found.add(name, this.slice(from, end) as RawJson);
    else found.addFlawed(name, this.#quote(tokens, from, end), "non_finite");
    return end;
  }

  /** A value with quotes around what stands at these places. */
  #quote(tokens: readonly number[], from: number, end: number): RawJson {
    const cuts = [from, ...tokens, end];
    return cuts
      .slice(1)
      .map((cut, index) => this.slice(cuts[index] ?? cut, cut))
      .join('"') as RawJson;
  }

  /** Skips an object or array by its brackets alone, however deep it is. */
  #skipNested(bytes: Buffer, start: number): number {
    for (let at = start, depth = 0; ; at++) {
      const code = bytes[at] as number;
      if (code === quote) {
        at = this.#skipString(bytes, at) - 1;
        if (at < 0) return -1;
      } else if (code === openBrace || code === openBracket) depth++;
      else if (code === closeBrace || code === closeBracket) {
        if (--depth === 0) return at + 1;
      } else if (code < 32 && code !== 9 && code !== 13 && code !== this.#breakSign) return -1;
    }
  }

  #skipString(bytes: Buffer, start: number): number {
    if (bytes[start] !== quote) return -1;
    const far = start + longString;
    for (let at = start + 1; ; at++) {
      const code = bytes[at] as number;
      if (code === quote) return at + 1;
      if (code === backslash) {
        at = skipEscape(bytes, at + 1);
        if (at === -1) return -1;
      } else if (code < 32) return -1;
      if (at >= far && this.#mayJump()) return this.#jumpString(bytes, at + 1);
    }
  }

  /** From quote to quote and from escape to escape, in a text without characters that no string may hold. */
  #jumpString(bytes: Buffer, start: number): number {
    const signs = this.#signs;
    let at = start;
    for (let end = signs.indexOf('"', at); end !== -1; end = end < at ? signs.indexOf('"', at) : end) {
      if (this.#escapeAt < at) this.#escapeAt = indexOrEnd(signs, "\\", at);
      if (this.#escapeAt > end) return indexOrEnd(signs, "\n", start) > end ? end + 1 : -1;
      const last = skipEscape(bytes, this.#escapeAt + 1);
      if (last === -1) return -1;
      at = last + 1;
    }
    return -1;
  }

  /** Looking for one character in a whole text is so much faster than looking at each that 31 such looks are worth it. */
  #mayJump(): boolean {
    if (this.#canJump === null) {
      const signs = this.#signs.slice(0, this.length);
      this.#canJump = !controls.some((sign) => signs.includes(sign));
    }
    return this.#canJump;
  }
}

function indexOrEnd(text: string, sign: string, from: number): number {
  const at = text.indexOf(sign, from);
  return at === -1 ? text.length : at;
}

function afterSpace(bytes: Buffer, start: number, breakSign: number): number {
  for (let at = start; ; at++) {
    const code = bytes[at] as number;
    if (code > 32 || (code !== 32 && code !== 9 && code !== 13 && code !== breakSign)) return at;
  }
}

function nameOf(written: string): string {
  return written.includes("\\") ? (JSON.parse(`"${written}"`) as string) : written;
}

/** Where the last character of an escape stands. */
function skipEscape(bytes: Buffer, at: number): number {
  const code = bytes[at] as number;
  if (escapes.has(code)) return at;
  return code === 117 && /^[0-9a-fA-F]{4}$/.test(bytes.toString("latin1", at + 1, at + 5)) ? at + 4 : -1;
}

function skipNumber(bytes: Buffer, start: number): number {
  let at = bytes[start] === 45 ? start + 1 : start;
  if (bytes[at] === 48) at++;
  else {
    const end = skipDigits(bytes, at);
    if (end === at) return -1;
    at = end;
  }
  if (bytes[at] === 46) {
    const end = skipDigits(bytes, at + 1);
    if (end === at + 1) return -1;
    at = end;
  }
  const code = bytes[at];
  if (code !== 101 && code !== 69) return at;
  const sign = bytes[at + 1];
  const from = sign === 43 || sign === 45 ? at + 2 : at + 1;
  const end = skipDigits(bytes, from);
  return end === from ? -1 : end;
}

function skipDigits(bytes: Buffer, start: number): number {
  let at = start;
  for (let code = bytes[at] as number; code >= 48 && code <= 57; code = bytes[at] as number) at++;
  return at;
}
