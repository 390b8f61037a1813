import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { quantile, quantiles } from "./quantile.ts";

describe("quantile", () => {
  test("of nothing is null", () => {
    expect(quantile([], 0.5)).toBeNull();
  });

  test("lies between neighbours where it falls between them", () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(quantile([10], 0.95)).toBe(10);
    expect(
      quantile(
        Array.from({ length: 101 }, (_, index) => index),
        0.95,
      ),
    ).toBeCloseTo(95, 12);
  });

  test("leaves its argument in order", () => {
    const values = [3, 1, 2];
    quantile(values, 0.5);
    expect(values).toEqual([3, 1, 2]);
  });

  test("never leaves the range of the values and grows with q", () => {
    const values = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (sample, q) => {
        const found = quantile(sample, q)!;
        expect(found).toBeGreaterThanOrEqual(quantile(sample, 0)!);
        expect(found).toBeLessThanOrEqual(quantile(sample, 1)! + 1e-9);
        expect(quantile(sample, 0)).toBeCloseTo(Math.min(...sample), 9);
        expect(quantile(sample, 1)).toBeCloseTo(Math.max(...sample), 9);
      }),
    );
  });
});

test("several quantiles of the same values agree with each alone", () => {
  expect(quantiles([3, 1, 2, 4], [0.5, 0.95])).toEqual([quantile([3, 1, 2, 4], 0.5), quantile([3, 1, 2, 4], 0.95)]);
  expect(quantiles([], [0.5])).toBeNull();
});
