import { mean } from "./aggregates.ts";
import type { Interval } from "./interval.ts";
import { meanInterval } from "./mean-interval.ts";

/** What the same item got on either side: the mean of its attempts. */
export interface MarkPair {
  readonly before: number;
  readonly after: number;
}

export interface PairedDifference {
  readonly pairs: number;
  /** Over the pairs alone, as everything here; null without any. */
  readonly meanBefore: number | null;
  readonly meanAfter: number | null;
  readonly difference: number | null;
  /** Student's t over the differences of the pairs; null below two, and where all differ alike: no spread is no certainty. */
  readonly interval: Interval | null;
}

/** The mean difference of pairs, after less before, with the pair as the unit of analysis. */
export function pairedDifference(pairs: readonly MarkPair[]): PairedDifference {
  const differences = pairs.map(({ before, after }) => after - before);
  const [first = 0] = differences;
  const hasSpread = differences.some((difference) => Math.abs(difference - first) > 1e-12);
  return {
    pairs: pairs.length,
    meanBefore: mean(pairs.map(({ before }) => before)),
    meanAfter: mean(pairs.map(({ after }) => after)),
    difference: mean(differences),
    interval: hasSpread ? withinReach(meanInterval(differences), pairs) : null,
  };
}

/** Marks from 0 to 1 cannot differ by more than 1. */
function withinReach(interval: Interval | null, pairs: readonly MarkPair[]): Interval | null {
  const isUnit = pairs.every(({ before, after }) => Math.min(before, after) >= 0 && Math.max(before, after) <= 1);
  if (interval === null || !isUnit) return interval;
  return { ...interval, low: Math.max(-1, interval.low), high: Math.min(1, interval.high) };
}
