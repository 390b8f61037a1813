import fc from "fast-check";
import { expect, test } from "vitest";
import { parseRaw, scanObject } from "./raw-json.ts";

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

test("the members of any object read back as what they are", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 2, "\t"), (value, indent) => {
      const members = scanObject(JSON.stringify(value, null, indent));
      const read = Object.fromEntries([...(members ?? [])].map(([name, text]) => [name, parseRaw(text)]));
      expect(read).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("it takes exactly what a parser takes", () => {
  const piece = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"',
    "1",
    "-",
    ".5",
    "e3",
    "null",
    "NaN",
    "\\",
    " ",
    "0",
    "true",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join("");
      let parsed: unknown;
      try {
        parsed = JSON.parse(text);
      } catch {
        parsed = null;
      }
      expect(scanObject(text) !== null).toBe(isObject(parsed));
    }),
    { numRuns: 20_000 },
  );
});

test("neither depth nor length takes it down", () => {
  expect(scanObject(`{"a":${"[".repeat(100_000)}`)).toBeNull();
  expect(scanObject(`{"a":"${"x".repeat(5_000_000)}"}`)?.get("a")).toHaveLength(5_000_002);
  expect(scanObject(`{"a":"${"\\n".repeat(1_000_000)}"}`)?.get("a")).toHaveLength(2_000_002);
});
