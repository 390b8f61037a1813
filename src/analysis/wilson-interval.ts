import type { Interval } from "./interval.ts";

// The 0.975 quantile of the standard normal distribution.
const z95 = 1.959963984540054;

/** Wilson's score interval of a rate of `passes` in `n`, which never collapses at 0 or 1; null when n is 0. */
export function wilsonInterval(passes: number, n: number, z: number = z95): Interval | null {
  if (n <= 0) return null;
  const rate = passes / n;
  const scale = 1 + (z * z) / n;
  const centre = (rate + (z * z) / (2 * n)) / scale;
  const half = (z / scale) * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n));
  // Rounding would otherwise leave 1e-17 where the bound is exactly 0 or 1.
  const low = passes <= 0 ? 0 : Math.max(0, centre - half);
  const high = passes >= n ? 1 : Math.min(1, centre + half);
  return { low, high, method: "wilson", level: 0.95 };
}
