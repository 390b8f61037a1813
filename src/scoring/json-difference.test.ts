import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonDifference } from "./json-difference.ts";

test("the first place that differs is named with what was expected there", () => {
  expect(jsonDifference({ a: [{ b: 1 }] }, { a: [{ b: "1" }] })).toEqual({
    path: "a[0].b",
    message: 'expected 1, got "1"',
  });
  expect(jsonDifference({ a: 1 }, {})).toEqual({ path: "a", message: "is missing" });
  expect(jsonDifference({}, { "odd key": 1 })).toEqual({ path: '["odd key"]', message: "was not expected" });
  expect(jsonDifference([1, 2], [1])).toEqual({ path: "", message: "expected 2 elements, got 1" });
  expect(jsonDifference({ a: [] }, { a: {} })).toEqual({ path: "a", message: "expected [], got {}" });
  expect(jsonDifference(null, undefined)).toEqual({ path: "", message: "expected null, got nothing" });
});

test("a key that is undefined is absent, and keys of the prototype are no keys", () => {
  expect(jsonDifference({ a: undefined }, {})).toBeNull();
  expect(jsonDifference({}, { a: undefined })).toBeNull();
  expect(jsonDifference({ toString: 1 }, {})).toEqual({ path: "toString", message: "is missing" });
  expect(jsonDifference(JSON.parse('{"__proto__": 1}'), {})).toEqual({ path: "__proto__", message: "is missing" });
});

test("circular values end in a difference rather than never", () => {
  const loop = (): object => {
    const list: unknown[] = [];
    list.push(list);
    return list;
  };
  expect(jsonDifference(loop(), loop())?.message).toBe("is nested more than 500 deep");
});

test("two JSON values have no difference exactly when their sorted texts are the same", () => {
  const sorted = (value: unknown): string =>
    JSON.stringify(value, (_, inner: unknown) =>
      inner !== null && typeof inner === "object" && !Array.isArray(inner)
        ? ["an object", ...Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))]
        : inner,
    );
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 2 }), fc.jsonValue({ maxDepth: 2 }), (a, b) => {
      expect(jsonDifference(a, b) === null).toBe(sorted(a) === sorted(b));
    }),
  );
});
