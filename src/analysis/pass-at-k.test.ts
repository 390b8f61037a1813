import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { passAtK } from "./pass-at-k.ts";
import { passHatK } from "./pass-hat-k.ts";

const sample = fc
  .integer({ min: 1, max: 200 })
  .chain((n) => fc.record({ n: fc.constant(n), c: fc.integer({ min: 0, max: n }), k: fc.integer({ min: 1, max: n }) }));

describe("passAtK", () => {
  test.each([
    [10, 3, 1, 0.3],
    [10, 3, 5, 0.916667],
    [5, 2, 2, 0.7],
    [8, 5, 4, 1],
  ])("of n=%i, c=%i, k=%i is %f", (n, c, k, expected) => {
    expect(passAtK(n, c, k)).toBeCloseTo(expected, 6);
  });

  test("is undefined with fewer attempts than k, also when all passed", () => {
    expect(passAtK(3, 3, 4)).toBeUndefined();
  });

  test("lies between 0 and 1, grows with c, and is c/n for one attempt", () => {
    fc.assert(
      fc.property(sample, ({ n, c, k }) => {
        const value = passAtK(n, c, k)!;
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
        if (c < n) expect(passAtK(n, c + 1, k)).toBeGreaterThanOrEqual(value - 1e-12);
        expect(passAtK(n, c, 1)).toBeCloseTo(c / n, 10);
      }),
    );
  });

  test("one attempt that passes and all attempts that fail make a whole", () => {
    fc.assert(
      fc.property(sample, ({ n, c, k }) => {
        expect(passAtK(n, c, k)! + passHatK(n, n - c, k)!).toBeCloseTo(1, 9);
      }),
    );
  });
});
