import fc from "fast-check";
import { expect, test } from "vitest";
import { toJson } from "./to-json.ts";

test("what JSON holds comes out as it is", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(toJson(value).json)).toBe(text);
    }),
  );
});

test("whatever it is given, the copy can be written as JSON", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }), (value) => {
      expect(typeof JSON.stringify(toJson(value).json)).toBe("string");
    }),
  );
});

test("a cycle ends in null, and an object that merely appears twice is copied twice", () => {
  const shared = { n: 1 };
  const ring: Record<string, unknown> = { left: shared, right: shared };
  ring["self"] = ring;
  expect(toJson(ring).json).toEqual({ left: { n: 1 }, right: { n: 1 }, self: null });
});

test("numbers that JSON lacks, functions, errors and hostile objects do no harm", () => {
  const hostile = {
    get boom(): never {
      throw new Error("no");
    },
  };
  expect(toJson([Number.NaN, 1n, () => 1, new TypeError("bad"), undefined, hostile]).json).toEqual([
    null,
    "1",
    null,
    { name: "TypeError", message: "bad" },
    null,
    null,
  ]);
});

test("the size grows with what is in it", () => {
  expect(toJson("x".repeat(1000)).size).toBeGreaterThanOrEqual(1000);
});
