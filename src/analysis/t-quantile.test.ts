import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tQuantile } from "./t-quantile.ts";

describe("tQuantile", () => {
  test.each([
    [1, 12.706204736174698],
    [2, 4.302652729749464],
    [3, 3.182446305283708],
    [4, 2.7764451051977934],
    [5, 2.570581835636314],
    [9, 2.262157162798205],
    [10, 2.2281388519649385],
    [29, 2.045229642132703],
    [30, 2.0422724563012373],
    [100, 1.9839715185235518],
    [1000, 1.9623390808264078],
    [1e6, 1.9599663570440073],
  ])("at 0.975 with %i degrees of freedom is %f", (df, expected) => {
    expect(Math.abs(tQuantile(0.975, df) - expected)).toBeLessThan(1e-9);
  });

  test("agrees with the closed forms of one and two degrees of freedom at any probability", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 0.999, noNaN: true }), (p) => {
        const one = Math.tan(Math.PI * (p - 0.5));
        const two = (2 * p - 1) / Math.sqrt(2 * p * (1 - p));
        expect(Math.abs(tQuantile(p, 1) - one)).toBeLessThan(1e-9 * Math.max(1, Math.abs(one)));
        expect(Math.abs(tQuantile(p, 2) - two)).toBeLessThan(1e-9 * Math.max(1, Math.abs(two)));
      }),
    );
  });

  test("falls with the degrees of freedom towards the normal quantile", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), (df) => {
        expect(tQuantile(0.975, df)).toBeGreaterThan(tQuantile(0.975, df + 1) - 1e-10);
        expect(tQuantile(0.975, df)).toBeGreaterThan(1.959963984540054 - 1e-10);
      }),
      { numRuns: 50 },
    );
  });

  test("is not a number outside its domain", () => {
    expect(tQuantile(1, 5)).toBeNaN();
    expect(tQuantile(0.975, 0)).toBeNaN();
  });
});
