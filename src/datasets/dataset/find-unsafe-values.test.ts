import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { findUnsafeValues } from "./find-unsafe-values.ts";

const loop: Record<string, unknown> = {};
loop["self"] = { loop };

test.each<[string, unknown, string, RegExp]>([
  ["undefined in an object", { a: { b: undefined } }, "input.a.b", /undefined/],
  ["a hole in a list", { a: Object.assign([1], { length: 2 }) }, "input.a[1]", /undefined/],
  ["a function", [() => 1], "input[0]", /function/],
  ["a symbol", { s: Symbol("x") }, "input.s", /symbol/],
  ["a bigint", { n: 1n }, "input.n", /bigint/],
  ["NaN", { n: NaN }, "input.n", /NaN/],
  ["infinity", -Infinity, "input", /-Infinity/],
  ["a Date", { at: new Date(0) }, "input.at", /toISOString/],
  ["a Map", { m: new Map() }, "input.m", /class Map/],
  ["an object that contains itself", loop, "input.self.loop", /itself/],
])("%s is refused with its path", (_, value, path, message) => {
  expect(findUnsafeValues(value, ["input"])).toEqual([{ path, message: expect.stringMatching(message) }]);
});

test("every problem is told, up to a limit", () => {
  expect(findUnsafeValues({ a: NaN, b: [undefined, 1n] }, []).map(({ path }) => path)).toEqual(["a", "b[0]", "b[1]"]);
  expect(findUnsafeValues(Array.from({ length: 90 }), [], 7)).toHaveLength(7);
});

test("one object in two places is no cycle, and a plain object of another realm is plain", () => {
  const shared = { a: 1 };
  expect(findUnsafeValues([shared, shared, Object.create(null)], [])).toEqual([]);
  expect(findUnsafeValues(runInNewContext("({ a: [1, { b: 2 }] })"), [])).toEqual([]);
});

test("nesting that no parser reads back is refused, not a crash", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(findUnsafeValues(deep, [])[0]?.message).toMatch(/deeper/);
});

test("whatever JSON can hold is accepted", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(findUnsafeValues(value, [])).toEqual([]);
    }),
  );
});
