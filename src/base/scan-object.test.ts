import fc from "fast-check";
import { expect, test } from "vitest";
import { parseRaw } from "./raw-json.ts";
import { scanObject } from "./scan-object.ts";

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
    "\\n",
    "\\u00e9",
    "\t",
    "\u0001",
    " ",
    "0",
    "true",
  );
  fc.assert(
    // Long texts are read another way than short ones.
    fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom("", " ".repeat(600)), (pieces, space) => {
      const text = pieces.join("") + space;
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

test("strings of long texts end where they end, whatever stands in them", () => {
  const sign = fc.constantFrom('"', "\\", "\n", "\u0000", "x", "é", "\ud83d\ude00", "\u2028", "{", "}");
  const word = fc.array(sign, { maxLength: 30 }).map((signs) => signs.join(""));
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
      const value = {
        ...Object.fromEntries(words.map((each, place) => [`${place}${each}`, each])),
        pad: "x".repeat(600),
      };
      const members = scanObject(JSON.stringify(value));
      expect(Object.fromEntries([...(members ?? [])].map(([name, text]) => [name, parseRaw(text)]))).toEqual(value);
    }),
  );
  expect(scanObject(`{"a":"${"x".repeat(600)}\t"}`)).toBeNull();
  expect(scanObject(`{"a":"${"x".repeat(600)}\\x"}`)).toBeNull();
});

test("neither depth nor length takes it down", () => {
  expect(scanObject(`{"a":${"[".repeat(100_000)}`)).toBeNull();
  expect(scanObject(`{"a":"${"x".repeat(5_000_000)}"}`)?.get("a")).toHaveLength(5_000_002);
  expect(scanObject(`{"a":"${"\\n".repeat(1_000_000)}"}`)?.get("a")).toHaveLength(2_000_002);
});
