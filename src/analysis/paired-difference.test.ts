import fc from "fast-check";
import { expect, test } from "vitest";
import { pairedDifference } from "./paired-difference.ts";

test("the difference and its interval are those of the pairs, not of the two sides", () => {
  const pairs = [
    { before: 0, after: 0.5 },
    { before: 0.5, after: 0.9 },
    { before: 0.2, after: 0.8 },
    { before: 1, after: 1 },
  ];
  const { difference, interval, meanBefore, meanAfter } = pairedDifference(pairs);
  expect(meanBefore).toBeCloseTo(0.425);
  expect(meanAfter).toBeCloseTo(0.8);
  expect(difference).toBeCloseTo(0.375);
  // By hand: differences 0.5 0.4 0.6 0, sd 0.26300, t(3) 3.18245.
  expect(interval?.low).toBeCloseTo(0.375 - (3.182446 * 0.2629956) / 2, 4);
  expect(interval?.high).toBeCloseTo(0.375 + (3.182446 * 0.2629956) / 2, 4);
});

test("nothing, a single pair, and pairs that differ alike have no interval", () => {
  expect(pairedDifference([])).toMatchObject({ pairs: 0, difference: null, interval: null });
  expect(pairedDifference([{ before: 0, after: 1 }])).toMatchObject({ difference: 1, interval: null });
  const alike = Array.from({ length: 5 }, (_, n) => ({ before: n, after: n }));
  expect(pairedDifference(alike)).toMatchObject({ difference: 0, interval: null });
});

test("turning the sides round turns the difference and its interval round", () => {
  const marks = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.array(fc.record({ before: marks, after: marks }), { minLength: 2 }), (pairs) => {
      const there = pairedDifference(pairs);
      const back = pairedDifference(pairs.map(({ before, after }) => ({ before: after, after: before })));
      expect(back.difference).toBeCloseTo(-(there.difference ?? 0), 9);
      expect(back.interval === null).toBe(there.interval === null);
      if (there.interval) expect(back.interval?.low).toBeCloseTo(-there.interval.high, 9);
      expect(there.interval?.high ?? 0).toBeLessThanOrEqual(1);
    }),
  );
});
