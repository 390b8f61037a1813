import { expect, test } from "vitest";
import { findNotJson } from "./find-not-json.ts";

const cycle: { self?: unknown } = {};
cycle.self = cycle;

test.each([
  [Number.NaN, "NaN at output is no number of JSON"],
  [{ a: Number.NaN }, "NaN at output.a is no number of JSON"],
  [{ a: [1, { b: -Infinity }] }, "-Infinity at output.a[1].b is no number of JSON"],
  [[1, undefined], "undefined at output[1] has no form in JSON"],
  [{ run: () => 1 }, "a function at output.run has no form in JSON"],
  [() => 1, "a function at output has no form in JSON"],
  [{ s: Symbol("s") }, "a symbol at output.s has no form in JSON"],
  [new Map([["much", Infinity]]), "Infinity at output.much is no number of JSON"],
  [new Set([Number.NaN]), "NaN at output[0] is no number of JSON"],
  [{ when: new Date(Number.NaN) }, "an invalid date at output.when has no form in JSON"],
  [{ toJSON: () => ({ b: Number.NaN }) }, "NaN at output.b is no number of JSON"],
  [cycle, "an object at output.self contains itself, which has no form in JSON"],
])("what has no form in JSON is told with its place: case %#", (value, words) => {
  expect(findNotJson(value, "output")).toBe(words);
});

test("what JSON can hold, and members that are left out, are nothing to tell", () => {
  const shared = { n: 1 };
  const value = { a: [null, "x", true, 1.5], b: undefined, when: new Date(0), much: 10n, twice: [shared, shared] };
  expect(findNotJson(value, "output")).toBeNull();
});

test("a getter that throws is told", () => {
  const value = {
    get bad(): never {
      throw new Error("not now");
    },
  };
  expect(findNotJson({ a: value }, "output")).toBe("what is at output.a cannot be read: not now");
});
