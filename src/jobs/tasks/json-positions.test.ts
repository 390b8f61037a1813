import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scanJson } from "./json-positions.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("finding keys", () => {
  test("members and items have the place where they start", () => {
    const { positions, errorOffset } = scanJson('[\n  {"a": 1,\n   "b": [true, {"c\\n": null}]}\n]');
    expect(errorOffset).toBeNull();
    expect(positions.find([0])).toEqual({ line: 2, column: 3 });
    expect(positions.find([0, "b"])).toEqual({ line: 3, column: 4 });
    expect(positions.find([0, "b", 1, "c\n"])).toEqual({ line: 3, column: 17 });
  });

  test("what ends the JSON is found", () => {
    expect(scanJson('{"a": 1,}').errorOffset).toBe(8);
    expect(scanJson("[1 2]").errorOffset).toBe(3);
    expect(scanJson("[1]x").errorOffset).toBe(3);
    expect(scanJson("").errorOffset).toBe(0);
  });
});

test("it takes exactly what JSON.parse takes", () => {
  const broken = fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 })).map(([text, at, junk]) => {
    const index = at % (text.length + 1);
    return text.slice(0, index) + junk + text.slice(index + 1);
  });
  fc.assert(
    fc.property(fc.oneof(fc.json(), broken, fc.string()), (text) => {
      expect(scanJson(text).errorOffset === null).toBe(isJson(text));
    }),
    { numRuns: 2_000 },
  );
});

test("a hostile depth or length does not make it throw", () => {
  for (const unit of ["[", '{"a":']) expect(scanJson(unit.repeat(100_000)).errorOffset).not.toBeNull();
  expect(scanJson(JSON.stringify("x\n".repeat(500_000))).errorOffset).toBeNull();
});
