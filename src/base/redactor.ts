/** Takes secret values out of whatever we are about to write. */
export interface Redactor {
  text(value: string): string;
  /** A redactor for one byte stream; it holds back what might be the start of a secret until `end`. */
  stream(): StreamRedactor;
}

export interface StreamRedactor {
  push(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

export interface Secret {
  readonly name: string;
  readonly value: string;
}

/** Values shorter than this would also take innocent text away; they are left alone and named to the user. */
export const shortestSecret = 8;

/** A redactor that has nothing to hide. */
export const noSecrets: Redactor = {
  text: (value) => value,
  stream: () => ({ push: (chunk) => chunk, end: () => new Uint8Array() }),
};

/** A redactor for the given secrets in plain, base64, hexadecimal, URL-encoded and escaped form. */
export function createRedactor(secrets: readonly Secret[]): Redactor {
  const forms = secretForms(secrets);
  if (forms.length === 0) return noSecrets;
  const scanner = createScanner(forms);
  return {
    text(value) {
      const bytes = toByteString(Buffer.from(value, "utf8"));
      const { done } = scanner.scan(bytes, true);
      return done === bytes ? value : Buffer.from(done, "latin1").toString("utf8");
    },
    stream() {
      let held = "";
      const advance = (chunk: Uint8Array, isLast: boolean): Uint8Array => {
        const { done, rest } = scanner.scan(held + toByteString(chunk), isLast);
        held = rest;
        return Buffer.from(done, "latin1");
      };
      return { push: (chunk) => advance(chunk, false), end: () => advance(new Uint8Array(), true) };
    },
  };
}

/** A value as JSON without secrets; only strings and keys are looked at, so that the text stays JSON whatever the secrets are. */
export function redactJson(value: unknown, redactor: Redactor, indent?: number): string {
  const redact = (_key: string, part: unknown): unknown => {
    if (typeof part === "string") return redactor.text(part);
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [redactor.text(key), inner]));
  };
  return JSON.stringify(value, redact, indent);
}

/** Returns a value as it reads back from its JSON without secrets. */
export function redactValue<T>(value: T, redactor: Redactor): T {
  return JSON.parse(redactJson(value, redactor)) as T;
}

/** One way in which a secret's value may be written. */
export interface SecretForm {
  /** Of the variable. */
  readonly name: string;
  /** Bytes as latin1, so that every chunk of a stream maps one to one. */
  readonly text: string;
}

interface Scanner {
  /** Takes the secrets out of `text` up to where one might still begin; `rest` waits for what comes next. */
  scan(text: string, isLast: boolean): { readonly done: string; readonly rest: string };
}

const isDigits = /^[0-9a-fA-F]{16,}$/;

function patternOf(forms: readonly SecretForm[]): RegExp {
  // One that nothing fits where there are none.
  return new RegExp(forms.map((form) => RegExp.escape(form.text)).join("|") || "[]", "g");
}

// Forms come longest first, so that of two that begin at one place the longer is taken whole.
function createScanner(forms: readonly SecretForm[]): Scanner {
  const digits = forms.filter(({ text }) => isDigits.test(text));
  const every = patternOf(forms);
  const usual = patternOf(forms.filter((form) => !digits.includes(form)));
  // Digits are everywhere, so that a pattern with them stops at every second character; a long run of them is rare.
  const shortest = Math.min(...digits.map(({ text }) => text.length));
  const hasDigits = (text: string): boolean =>
    hasDigitRun(text, shortest) && digits.some((form) => text.includes(form.text));
  const marks = new Map(forms.map((form) => [form.text, `[redacted:${form.name}]`]));
  return {
    scan(text, isLast) {
      let done = "";
      let at = 0;
      let hold = isLast ? text.length : findOpenStart(text, at, forms);
      const pattern = hasDigits(text) ? every : usual;
      pattern.lastIndex = 0;
      for (let match = pattern.exec(text); match !== null && match.index < hold; match = pattern.exec(text)) {
        done += text.slice(at, match.index) + (marks.get(match[0]) ?? "");
        at = pattern.lastIndex;
        if (at > hold) hold = findOpenStart(text, at, forms);
      }
      return { done: done + text.slice(at, hold), rest: text.slice(hold) };
    },
  };
}

// A run of this length covers one of the places that are this far apart; all others need not be looked at.
function hasDigitRun(text: string, length: number): boolean {
  for (let at = length - 1; at < text.length; at += length) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let from = at;
    let to = at + 1;
    while (from > 0 && isDigit(text.charCodeAt(from - 1))) from--;
    while (to < text.length && to - from < length && isDigit(text.charCodeAt(to))) to++;
    if (to - from >= length) return true;
  }
  return false;
}

function isDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || ((code | 32) >= 97 && (code | 32) <= 102);
}

/** The first place from which the whole rest of the text could be the beginning of a form. */
function findOpenStart(text: string, from: number, forms: readonly SecretForm[]): number {
  let first = text.length;
  for (const form of forms) {
    const start = form.text.charAt(0);
    const earliest = Math.max(from, text.length - form.text.length + 1);
    for (let at = text.indexOf(start, earliest); at !== -1 && at < first; at = text.indexOf(start, at + 1)) {
      if (form.text.startsWith(text.slice(at))) first = at;
    }
  }
  return first;
}

/** Every way in which a value may stand in a text, longest first; values that are too short have none. */
export function secretForms(secrets: readonly Secret[]): readonly SecretForm[] {
  const forms = new Map<string, string>();
  for (const { name, value } of secrets) {
    if (value.length < shortestSecret) continue;
    const whole = value.toWellFormed();
    for (const form of [...plainForms(whole), ...escapedForms(whole), ...base64Forms(value), ...hexForms(value)]) {
      if (form.length >= shortestSecret && !forms.has(form)) forms.set(form, name);
    }
  }
  return [...forms].map(([text, name]) => ({ name, text })).sort((a, b) => b.text.length - a.text.length);
}

function plainForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  // Some JSON writers keep to ASCII.
  const asciiJson = json.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const formEncoded = new URLSearchParams({ v: value }).toString().slice(2);
  return [
    toByteString(Buffer.from(value)),
    toByteString(Buffer.from(json)),
    asciiJson,
    formEncoded,
    ...urlForms(value),
  ];
}

// As Python's repr and JavaScript's inspect show a text: in single quotes or double ones, of characters or of bytes.
function escapedForms(value: string): string[] {
  const readable = escape(value, /[\\\p{Cc}]/gu, (point) => `\\x${hex(point, 2)}`);
  const ascii = escape(value, /[\\\p{Cc}\u0080-\u{10ffff}]/gu, (point) =>
    point < 0x100 ? `\\x${hex(point, 2)}` : point < 0x10000 ? `\\u${hex(point, 4)}` : `\\U${hex(point, 8)}`,
  );
  const bytes = escape(toByteString(Buffer.from(value)), /[\\\p{Cc}\u0080-\u00ff]/gu, (point) => `\\x${hex(point, 2)}`);
  // Some JSON writers escape what could end a script element.
  const slashed = JSON.stringify(value).slice(1, -1).replaceAll("/", "\\/");
  const forms = [toByteString(Buffer.from(readable)), ascii, bytes];
  return [...forms, ...forms.map((form) => form.replaceAll("'", "\\'")), toByteString(Buffer.from(slashed))];
}

const named: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escape(value: string, pattern: RegExp, write: (codePoint: number) => string): string {
  return value.replace(pattern, (character) => named[character] ?? write(character.codePointAt(0) ?? 0));
}

function hex(codePoint: number, digits: number): string {
  return codePoint.toString(16).padStart(digits, "0");
}

function hexForms(value: string): string[] {
  const lower = Buffer.from(value, "utf8").toString("hex");
  return [lower, lower.toUpperCase()];
}

// Which characters are left as they are, and how the others are written, differs from one library to the next.
function urlForms(value: string): string[] {
  const usual = encodeURIComponent(value);
  const strict = usual.replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const forms = [usual, strict].flatMap((form) => [form, form.replaceAll("%2F", "/")]);
  return forms.flatMap((form) => [form, form.replace(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase())]);
}

// A value inside a longer base64 text starts at one of three alignments; the characters it shares with its neighbours are cut off.
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value, "utf8");
  return [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const start = shift === 0 ? 0 : shift + 1;
    const end = (shift + bytes.length) % 3 === 0 ? encoded.length : encoded.length - 1;
    const stable = encoded.slice(start, end);
    return [stable, stable.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

function toByteString(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}
