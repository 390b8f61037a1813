/** Where a text stops being JSON, and what was expected there. */
export interface JsonError {
  readonly offset: number;
  readonly message: string;
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;
const word = /true|false|null/y;
const blank = /[ \t\r\n]*/y;

/** Finds the first error of a text that `JSON.parse` refused, because not every engine tells where it is. */
export function findJsonError(text: string): JsonError {
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  const fail = (message: string): never => {
    throw new FoundError({ offset: at, message: at >= text.length ? `${message}, but the text ends` : message });
  };
  const take = (character: string): boolean => {
    skip(blank);
    if (text[at] !== character) return false;
    at++;
    return true;
  };
  const members = (end: string, member: () => void): void => {
    if (take(end)) return;
    do {
      skip(blank);
      if (text[at] === end) fail(`a "," before "${end}" has nothing behind it`);
      member();
    } while (take(","));
    if (!take(end)) fail(`expected "," or "${end}"`);
  };
  const key = (): void => {
    skip(blank);
    if (text[at] === "'") fail("expected a key in double quotes");
    if (!skip(string)) fail('expected a key like "name"');
    if (!take(":")) fail('expected ":" after the key');
    value();
  };
  const value = (): void => {
    skip(blank);
    if (take("{")) return members("}", key);
    if (take("[")) return members("]", value);
    if (skip(string) || skip(number) || skip(word)) return;
    if (text[at] === '"') fail("expected a string that ends on its line and escapes control characters");
    fail("expected a JSON value");
  };
  try {
    value();
    skip(blank);
    fail("expected nothing more after the value");
  } catch (error) {
    if (error instanceof FoundError) return error.found;
    throw error;
  }
  return { offset: at, message: "is no JSON" };
}

class FoundError extends Error {
  readonly found: JsonError;

  constructor(found: JsonError) {
    super(found.message);
    this.found = found;
  }
}
