import { seededRandom } from "../base/seeded-random.ts";
import type { Interval } from "./interval.ts";
import { quantiles } from "./quantile.ts";

const resamples = 1000;
// Fewer say more about the draws than about the statistic.
const fewestUnits = 5;

/**
 * A percentile bootstrap interval of any statistic of independent units. Draws of which the statistic is null are left
 * out; null when that happens to more than half of them, or with fewer than five units. The same units give the same.
 */
export function bootstrapInterval<T>(
  units: readonly T[],
  statistic: (units: readonly T[]) => number | null,
): Interval | null {
  if (units.length < fewestUnits) return null;
  // With a seed, so that a report does not change when it is made again.
  const random = seededRandom(units.length);
  const values: number[] = [];
  for (let draw = 0; draw < resamples; draw++) {
    const drawn = units.map(() => units[Math.floor(random() * units.length)] as T);
    const value = statistic(drawn);
    if (value !== null) values.push(value);
  }
  const [low, high] = quantiles(values, [0.025, 0.975]) ?? [];
  if (low === undefined || high === undefined || values.length < resamples / 2) return null;
  return { low, high, method: "bootstrap", level: 0.95 };
}
