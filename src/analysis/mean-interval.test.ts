import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { meanInterval } from "./mean-interval.ts";

describe("meanInterval", () => {
  test("is the mean plus and minus the t quantile times the standard error", () => {
    const interval = meanInterval([1, 1, 0, 1, 0, 1, 1, 0, 1, 0]);
    expect(interval?.low).toBeCloseTo(0.6 - 2.262157162798205 * 0.16329931618554522, 9);
    expect(interval?.high).toBeCloseTo(0.6 + 2.262157162798205 * 0.16329931618554522, 9);
    expect(interval).toMatchObject({ method: "t", level: 0.95 });
  });

  test("counts clusters, not values, as degrees of freedom", () => {
    const interval = meanInterval([1, 1, 0, 1, 0, 1, 1, 0, 1, 0], ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e"]);
    expect(interval?.high).toBeCloseTo(0.6 + 2.7764451051977934 * 0.1, 9);
  });

  test("is null below two values", () => {
    expect(meanInterval([])).toBeNull();
    expect(meanInterval([0.5])).toBeNull();
  });

  test("surrounds the mean and moves with the values", () => {
    const values = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 2, maxLength: 50 });
    fc.assert(
      fc.property(values, (sample) => {
        const interval = meanInterval(sample)!;
        const moved = meanInterval(sample.map((value) => value + 10))!;
        const middle = sample.reduce((total, value) => total + value, 0) / sample.length;
        expect((interval.low + interval.high) / 2).toBeCloseTo(middle, 6);
        expect(moved.low).toBeCloseTo(interval.low + 10, 6);
      }),
    );
  });
});
