import { describe, expect, test } from "vitest";
import { clusteredStandardError } from "./clustered-standard-error.ts";

const a = [1, 1, 0, 1, 0, 1, 1, 0, 1, 0];
const pairs = a.map((_, index) => Math.floor(index / 2));

describe("clusteredStandardError", () => {
  test("with every value its own cluster is the plain standard error", () => {
    const own = a.map((_, index) => index);
    expect(clusteredStandardError(a, own)).toBeCloseTo(0.163299, 6);
  });

  test("of pairs is as published, with and without the correction for few clusters", () => {
    expect(clusteredStandardError(a, pairs)).toBeCloseTo(0.1, 9);
    expect(clusteredStandardError(a, pairs, { finiteFactor: false })).toBeCloseTo(0.089443, 6);
  });

  test("is null with a single cluster and with no values", () => {
    expect(clusteredStandardError([1, 0, 1], ["x", "x", "x"])).toBeNull();
    expect(clusteredStandardError([], [])).toBeNull();
  });
});
