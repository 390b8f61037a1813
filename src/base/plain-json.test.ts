import fc from "fast-check";
import { expect, test } from "vitest";
import { plainJson } from "./plain-json.ts";

test("whatever a text holds, its JSON reads back as the same and holds nothing that a terminal obeys", () => {
  const sign = fc.constantFrom("a", "\u009b31m", "\x1b[2J", "\x7f", "\u202e", "\u2028", "\u{e0041}", "é", "👩‍👩‍👧", "\0");
  fc.assert(
    fc.property(fc.array(sign), fc.constantFrom(undefined, 2), (signs, indent) => {
      const value = { [signs.join("")]: [signs.join("-")] };
      const json = plainJson(value, indent);
      expect(JSON.parse(json)).toEqual(value);
      expect(json).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u{e0000}-\u{e0fff}]/u);
    }),
  );
});

test("ordinary text stays as it is", () => {
  expect(plainJson({ text: 'é 👩‍👩‍👧 "x"' })).toBe(JSON.stringify({ text: 'é 👩‍👩‍👧 "x"' }));
});
