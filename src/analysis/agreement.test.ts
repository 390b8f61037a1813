import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bootstrapInterval } from "./bootstrap-interval.ts";
import { cohensKappa, type Pair } from "./cohens-kappa.ts";
import { spearman } from "./spearman.ts";
import { weightedKappa } from "./weighted-kappa.ts";

const repeated = <T>(count: number, pair: Pair<T>): Pair<T>[] => Array.from({ length: count }, () => pair);

describe("Cohen's kappa", () => {
  test("is that of the textbook's table", () => {
    const pairs = [
      ...repeated(20, ["yes", "yes"]),
      ...repeated(5, ["yes", "no"]),
      ...repeated(10, ["no", "yes"]),
      ...repeated(15, ["no", "no"]),
    ];
    expect(cohensKappa(pairs)).toBeCloseTo(0.4, 12);
  });

  test("is null when there is nothing to tell from chance", () => {
    expect(cohensKappa([])).toBeNull();
    expect(cohensKappa(repeated(5, ["yes", "yes"]))).toBeNull();
    expect(cohensKappa([["yes", "no"]])).toBe(0);
  });

  test("is at most 1, which it is only for judges that never differ", () => {
    const label = fc.constantFrom("a", "b", "c");
    fc.assert(
      fc.property(fc.array(fc.tuple(label, label)), (pairs) => {
        const kappa = cohensKappa(pairs);
        if (kappa === null) return;
        expect(kappa).toBeLessThanOrEqual(1);
        expect(kappa === 1).toBe(pairs.every(([a, b]) => a === b));
      }),
    );
  });
});

describe("weighted kappa", () => {
  test("is the plain sum over all cells, with quadratic weights", () => {
    const rating = fc.integer({ min: 1, max: 5 });
    fc.assert(
      fc.property(fc.array(fc.tuple(rating, rating), { minLength: 1 }), (pairs) => {
        let [seen, byChance] = [0, 0];
        for (const [a] of pairs) for (const [, b] of pairs) byChance += (a - b) ** 2 / pairs.length;
        for (const [a, b] of pairs) seen += (a - b) ** 2;
        const kappa = weightedKappa(pairs);
        if (byChance === 0) expect(kappa).toBeNull();
        else expect(kappa).toBeCloseTo(1 - seen / byChance, 9);
      }),
    );
  });

  test("of two labels is the one without weights", () => {
    const pairs: Pair<number>[] = [
      ...repeated<number>(3, [0, 0]),
      ...repeated<number>(2, [1, 0]),
      ...repeated<number>(4, [1, 1]),
    ];
    expect(weightedKappa(pairs)).toBeCloseTo(cohensKappa(pairs) ?? Number.NaN, 12);
  });
});

describe("Spearman's correlation", () => {
  test("looks at order alone and lets ties share their rank", () => {
    expect(
      spearman([
        [1, 10],
        [2, 100],
        [3, 1000],
      ]),
    ).toBe(1);
    expect(
      spearman([
        [1, 3],
        [2, 2],
        [3, 1],
      ]),
    ).toBe(-1);
    expect(
      spearman([
        [1, 1],
        [2, 2],
        [2, 3],
        [3, 3],
      ]),
    ).toBeCloseTo(0.8333333333, 9);
  });

  test("is null when one side says nothing", () => {
    expect(spearman([])).toBeNull();
    expect(spearman([[1, 1]])).toBeNull();
    expect(
      spearman([
        [1, 1],
        [1, 2],
      ]),
    ).toBeNull();
  });

  test("stays the same when one side grows in another way", () => {
    const number = fc.integer({ min: -50, max: 50 });
    fc.assert(
      fc.property(fc.array(fc.tuple(number, number)), (pairs) => {
        expect(spearman(pairs.map(([a, b]) => [a ** 3 + a, b]))).toBe(spearman(pairs));
      }),
    );
  });
});

describe("the bootstrap interval", () => {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

  test("holds the statistic of the units, and is the same every time", () => {
    const units = Array.from({ length: 50 }, (_, index) => index % 10);
    const interval = bootstrapInterval(units, mean);
    expect(interval).toEqual(bootstrapInterval(units, mean));
    expect(interval?.low).toBeGreaterThan(3);
    expect(interval?.low).toBeLessThan(4.5);
    expect(interval?.high).toBeGreaterThan(4.5);
    expect(interval?.high).toBeLessThan(6);
  });

  test("is null for few units and for a statistic that mostly does not exist", () => {
    expect(bootstrapInterval([1, 2, 3, 4], mean)).toBeNull();
    expect(bootstrapInterval([1, 2, 3, 4, 5], () => null)).toBeNull();
  });
});
