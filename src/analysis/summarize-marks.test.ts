import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { meanInterval } from "./mean-interval.ts";
import { summarizeMarks } from "./summarize-marks.ts";
import { wilsonInterval } from "./wilson-interval.ts";

const itemsOf = (...values: number[][]) => values.map((list, index) => ({ item: `task-${index}`, values: list }));

describe("summarizeMarks", () => {
  test("of nothing has no rates, no intervals and no pass@k", () => {
    expect(summarizeMarks([], 1)).toEqual({
      headline: { rate: null, interval: null, passed: 0, counted: 0 },
      items: 0,
      values: 0,
      passed: 0,
      passRate: null,
      passRateInterval: null,
      meanMark: null,
      meanMarkInterval: null,
      isGraded: false,
      passAtK: [],
      passHatK: [],
    });
  });

  test("failed attempts count as not passed in the headline and in nothing else", () => {
    const summary = summarizeMarks(
      [
        { item: "a", values: [1, 1], missed: 1 },
        { item: "b", values: [], missed: 1 },
      ],
      1,
    );
    expect(summary).toMatchObject({ passRate: 1, meanMark: 1, values: 2 });
    expect(summary.headline).toMatchObject({ rate: 0.5, passed: 2, counted: 4 });
  });

  test("pass@1 is the headline, and pass@k never falls below it", () => {
    const attempts = fc.record({ values: fc.array(fc.constantFrom(0, 1), { maxLength: 6 }), missed: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(attempts, { minLength: 1, maxLength: 8 }), (list) => {
        const { headline, passAtK } = summarizeMarks(
          list.map((item, index) => ({ item: String(index), ...item })),
          1,
        );
        passAtK.forEach(({ value }, index) => {
          expect(value).toBeGreaterThanOrEqual((passAtK[index - 1]?.value ?? headline.rate ?? 0) - 1e-12);
        });
        if (passAtK[0]) expect(passAtK[0].value).toBeCloseTo(headline.rate ?? -1, 12);
      }),
    );
  });

  test("one attempt per task with marks of 0 and 1 gives Wilson's interval over tasks", () => {
    const summary = summarizeMarks(itemsOf([1], [1], [1], [1], [1], [1], [1], [0], [0], [0]), 1);
    expect(summary).toMatchObject({ items: 10, values: 10, passed: 7, passRate: 0.7, meanMark: 0.7 });
    expect(summary.passRateInterval).toEqual(wilsonInterval(7, 10));
    expect(summary.meanMarkInterval).toEqual(wilsonInterval(7, 10));
    expect(summary.passAtK).toEqual([]);
  });

  test("several attempts give a t interval over the means of the tasks", () => {
    const summary = summarizeMarks(itemsOf([1, 0], [1, 1], [0, 0], [1, 0]), 1);
    const overMeans = meanInterval([0.5, 1, 0, 0.5])!;
    expect(summary.passRateInterval?.method).toBe("t");
    expect(summary.passRateInterval?.low).toBeCloseTo(Math.max(0, overMeans.low), 12);
    expect(summary.passRateInterval?.high).toBeCloseTo(Math.min(1, overMeans.high), 12);
  });

  test("repeating an attempt that always ends the same does not make the interval narrower", () => {
    const once = summarizeMarks(itemsOf([1], [1], [0]), 1);
    const often = summarizeMarks(itemsOf([1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]), 1);
    expect(often.passRateInterval).toEqual(once.passRateInterval);
    expect(often.passRateInterval?.method).toBe("wilson");
  });

  test("the interval surrounds the rate also when tasks have different numbers of attempts", () => {
    const summary = summarizeMarks(itemsOf([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [0], [0], [1]), 1);
    expect(summary.passRateInterval?.low).toBeLessThan(summary.passRate!);
    expect(summary.passRateInterval?.high).toBeGreaterThan(summary.passRate!);
  });

  test("the mark and the pass rate have their own intervals", () => {
    const summary = summarizeMarks(itemsOf([0.5], [0.75], [1], [0.25]), 1);
    expect(summary.passRateInterval?.method).toBe("wilson");
    expect(summary.meanMarkInterval?.method).toBe("t");
    expect(summary.meanMark).toBe(0.625);
  });

  test("a t interval is kept within 0 and 1 only when all marks are", () => {
    expect(summarizeMarks(itemsOf([0.9], [1], [0.1]), 1).meanMarkInterval?.high).toBe(1);
    expect(summarizeMarks(itemsOf([0.9], [40], [0.1]), 1).meanMarkInterval?.high).toBeGreaterThan(40);
  });

  test("marks that are all alike do not claim certainty", () => {
    const summary = summarizeMarks(itemsOf([0.5], [0.5], [0.5]), 1);
    expect(summary.meanMarkInterval?.low).toBeLessThan(0.4);
    expect(summarizeMarks(itemsOf([7], [7]), 1).meanMarkInterval).toBeNull();
  });

  test("one task that many agents tried is one cluster", () => {
    const crossed = [
      { item: "a/x", values: [1], cluster: "x" },
      { item: "b/x", values: [1], cluster: "x" },
      { item: "a/y", values: [0], cluster: "y" },
      { item: "b/y", values: [0], cluster: "y" },
    ];
    expect(summarizeMarks(crossed, 1).passRateInterval).toEqual(wilsonInterval(1, 2));
  });

  test("pass@k and pass^k are given for powers of two and for the smallest number of attempts", () => {
    const summary = summarizeMarks(itemsOf([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1]), 1);
    expect(summary.passAtK.map(({ k }) => k)).toEqual([1, 2, 4, 6]);
    expect(summary.passHatK[1]?.value).toBeCloseTo((6 * (1 / 15) + 7) / 13, 12);
    expect(summary.passAtK[3]?.value).toBe(1);
  });

  test("attempts that failed have not passed, for pass@k and pass^k", () => {
    const marked = summarizeMarks(itemsOf([1, 1], [1, 1]), 1);
    const summary = summarizeMarks(
      [
        { item: "a", values: [1, 1], missed: 2 },
        { item: "b", values: [1, 1, 1, 1] },
        { item: "c", values: [], missed: 4 },
      ],
      1,
    );
    expect(summary).toMatchObject({ items: 2, values: 6, passed: 6, passRate: 1 });
    expect(summary.passRateInterval).toEqual(marked.passRateInterval);
    expect(summary.passAtK.map(({ k }) => k)).toEqual([1, 2, 4]);
    expect(summary.passAtK[0]?.value).toBeCloseTo(0.5, 12);
    expect(summary.passHatK[1]?.value).toBeCloseTo((1 / 6 + 1) / 3, 12);
    expect(summary.passAtK[2]?.value).toBeCloseTo(2 / 3, 12);
  });

  test("where every attempt failed without a mark pass@k is 0, as the headline is", () => {
    const { headline, passAtK } = summarizeMarks([{ item: "a", values: [], missed: 2 }], 1);
    expect(headline).toMatchObject({ rate: 0, counted: 2 });
    expect(passAtK).toEqual([
      { k: 1, value: 0 },
      { k: 2, value: 0 },
    ]);
  });

  test("marks other than 0 and 1 are grades", () => {
    expect(summarizeMarks(itemsOf([1], [0]), 0.5).isGraded).toBe(false);
    expect(summarizeMarks(itemsOf([0.6], [0.4]), 0.5).isGraded).toBe(true);
  });

  test("an item without values is no item", () => {
    expect(summarizeMarks(itemsOf([], [1]), 1).items).toBe(1);
  });

  test("intervals always hold their estimate, whatever the marks", () => {
    const marks = fc.array(fc.array(fc.constantFrom(0, 0.25, 0.5, 1), { maxLength: 6 }), { maxLength: 20 });
    fc.assert(
      fc.property(marks, (lists) => {
        const { passRate, passRateInterval, meanMark, meanMarkInterval } = summarizeMarks(itemsOf(...lists), 1);
        for (const [value, interval] of [
          [passRate, passRateInterval],
          [meanMark, meanMarkInterval],
        ] as const) {
          if (value === null || !interval) continue;
          expect(interval.low).toBeGreaterThanOrEqual(0);
          expect(interval.high).toBeLessThanOrEqual(1);
          expect(interval.low).toBeLessThanOrEqual(value + 1e-12);
          expect(interval.high).toBeGreaterThanOrEqual(value - 1e-12);
        }
      }),
    );
  });
});
