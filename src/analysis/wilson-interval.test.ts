import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { wilsonInterval } from "./wilson-interval.ts";

describe("wilsonInterval", () => {
  test.each([
    [0, 5, 0, 0.434482],
    [5, 5, 0.565518, 1],
    [17, 20, 0.639581, 0.947631],
    [850, 1000, 0.826531, 0.87079],
    [0, 30, 0, 0.113513],
    [7, 10, 0.396778, 0.892209],
  ])("of %i in %i is [%f, %f]", (passes, n, low, high) => {
    const interval = wilsonInterval(passes, n);
    expect(interval?.low).toBeCloseTo(low, 6);
    expect(interval?.high).toBeCloseTo(high, 6);
    expect(interval).toMatchObject({ method: "wilson", level: 0.95 });
  });

  test("of nothing is null", () => {
    expect(wilsonInterval(0, 0)).toBeNull();
  });

  test("a smaller z gives a narrower interval", () => {
    expect(wilsonInterval(7, 10, 1)?.low).toBeGreaterThan(wilsonInterval(7, 10)?.low ?? 1);
  });

  test("holds the rate, stays within 0 and 1, never collapses and mirrors passes and failures", () => {
    const counts = fc
      .integer({ min: 1, max: 10_000 })
      .chain((n) => fc.tuple(fc.integer({ min: 0, max: n }), fc.constant(n)));
    fc.assert(
      fc.property(counts, ([passes, n]) => {
        const interval = wilsonInterval(passes, n)!;
        const mirror = wilsonInterval(n - passes, n)!;
        expect(interval.low).toBeGreaterThanOrEqual(0);
        expect(interval.high).toBeLessThanOrEqual(1);
        expect(interval.low).toBeLessThanOrEqual(passes / n);
        expect(interval.high).toBeGreaterThanOrEqual(passes / n);
        expect(interval.high - interval.low).toBeGreaterThan(0);
        expect(interval.low).toBeCloseTo(1 - mirror.high, 12);
      }),
    );
  });
});
