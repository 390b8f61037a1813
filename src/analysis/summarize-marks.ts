import { max, mean, min } from "./aggregates.ts";
import type { Interval } from "./interval.ts";
import { meanInterval } from "./mean-interval.ts";
import { passAtK } from "./pass-at-k.ts";
import { passHatK } from "./pass-hat-k.ts";
import { wilsonInterval } from "./wilson-interval.ts";

/** All marks that the attempts at one item got. Items of one cluster depend on one another: one task, many agents. */
export interface ItemMarks {
  readonly item: string;
  readonly values: readonly number[];
  /** Attempts that failed and have no mark. They count as not passed in the headline, pass@k and pass^k. Default: 0. */
  readonly missed?: number | undefined;
  /** The item itself when absent. */
  readonly cluster?: string | undefined;
}

export interface ValueAtK {
  readonly k: number;
  readonly value: number;
}

/** The rate that people see: every attempt with a mark, and every failed attempt that counts as not passed. */
export interface Headline {
  /** Null when nothing counts. */
  readonly rate: number | null;
  readonly interval: Interval | null;
  readonly passed: number;
  readonly counted: number;
}

export interface MarksSummary {
  readonly headline: Headline;
  readonly items: number;
  readonly values: number;
  readonly passed: number;
  /** Over attempts with a mark only; null when there are none. */
  readonly passRate: number | null;
  readonly passRateInterval: Interval | null;
  readonly meanMark: number | null;
  readonly meanMarkInterval: Interval | null;
  /** Some value is neither 0 nor 1. */
  readonly isGraded: boolean;
  /** Items weigh by their attempts, so that pass@1 is the headline's rate. Empty unless every item has two attempts. */
  readonly passAtK: readonly ValueAtK[];
  readonly passHatK: readonly ValueAtK[];
}

/** Rates, means and intervals of marks, with the item and never the attempt as the unit of analysis. */
export function summarizeMarks(items: Iterable<ItemMarks>, passAt: number): MarksSummary {
  const marks = new ClusteredValues();
  const passes = new ClusteredValues();
  const counted = new ClusteredValues();
  const counts: { n: number; c: number }[] = [];
  let marked = 0;
  for (const { item, values, missed = 0, cluster = item } of items) {
    if (values.length + missed === 0) continue;
    if (values.length > 0) marked++;
    let c = 0;
    for (const value of values) {
      const pass = value >= passAt ? 1 : 0;
      c += pass;
      marks.add(value, cluster);
      passes.add(pass, cluster);
      counted.add(pass, cluster);
    }
    for (let index = 0; index < missed; index++) counted.add(0, cluster);
    counts.push({ n: values.length + missed, c });
  }
  const passed = counts.reduce((total, { c }) => total + c, 0);
  const ks = listKs(min(counts.map(({ n }) => n)) ?? 0);
  const overAttempts = (valueOf: (n: number, c: number) => number | undefined): number =>
    counts.reduce((total, { n, c }) => total + n * (valueOf(n, c) ?? 0), 0) / counted.values.length;
  return {
    headline: { rate: mean(counted.values), interval: counted.interval(), passed, counted: counted.values.length },
    items: marked,
    values: marks.values.length,
    passed,
    passRate: mean(passes.values),
    passRateInterval: passes.interval(),
    meanMark: mean(marks.values),
    meanMarkInterval: marks.interval(),
    isGraded: marks.values.some((mark) => mark !== 0 && mark !== 1),
    passAtK: ks.map((k) => ({ k, value: overAttempts((n, c) => passAtK(n, c, k)) })),
    passHatK: ks.map((k) => ({ k, value: overAttempts((n, c) => passHatK(n, c, k)) })),
  };
}

/** Values with the cluster that each belongs to. */
class ClusteredValues {
  readonly values: number[] = [];
  readonly #clusters: number[] = [];
  readonly #numbers = new Map<string, number>();

  add(value: number, cluster: string): void {
    const number = this.#numbers.get(cluster) ?? this.#numbers.size;
    this.#numbers.set(cluster, number);
    this.values.push(value);
    this.#clusters.push(number);
  }

  interval(): Interval | null {
    return intervalOf(this.values, this.#clusters);
  }
}

/** 1, 2, 4, 8 … below the number of attempts, and that number itself; nothing for a single attempt. */
function listKs(attempts: number): number[] {
  if (attempts < 2) return [];
  const ks: number[] = [];
  for (let k = 1; k < attempts; k *= 2) ks.push(k);
  return [...ks, attempts];
}

function intervalOf(values: readonly number[], clusters: readonly number[]): Interval | null {
  const centre = mean(values);
  if (centre === null) return null;
  const inUnit = (min(values) ?? 0) >= 0 && (max(values) ?? 0) <= 1;
  const means = clusterMeans(values, clusters);
  const spread = (max(means) ?? 0) - (min(means) ?? 0);
  // Without spread a t interval has no width, which would claim certainty; Wilson's does not.
  if (inUnit && (spread < 1e-12 || means.every((value) => value === 0 || value === 1))) {
    return wilsonInterval(centre * means.length, means.length);
  }
  const interval = spread < 1e-12 ? null : meanInterval(values, clusters);
  if (!interval || !inUnit) return interval;
  return { ...interval, low: Math.max(0, interval.low), high: Math.min(1, interval.high) };
}

function clusterMeans(values: readonly number[], clusters: readonly number[]): number[] {
  const sums: number[] = [];
  const sizes: number[] = [];
  clusters.forEach((cluster, index) => {
    sums[cluster] = (sums[cluster] ?? 0) + (values[index] ?? 0);
    sizes[cluster] = (sizes[cluster] ?? 0) + 1;
  });
  return sums.map((sum, cluster) => sum / (sizes[cluster] ?? 1));
}
