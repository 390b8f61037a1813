import { mean } from "./aggregates.ts";
import { clusteredStandardError } from "./clustered-standard-error.ts";
import type { Interval } from "./interval.ts";
import { tQuantile } from "./t-quantile.ts";

/**
 * Student's t interval of the mean. Values of one cluster count as dependent, and the degrees of freedom are those of
 * the clusters; without clusters every value stands for itself. Null below two values or clusters.
 */
export function meanInterval(
  values: readonly number[],
  clusters: readonly (string | number)[] = values.map((_, index) => index),
): Interval | null {
  const centre = mean(values);
  const error = clusteredStandardError(values, clusters);
  if (centre === null || error === null) return null;
  const half = error === 0 ? 0 : tQuantile(0.975, new Set(clusters).size - 1) * error;
  return { low: centre - half, high: centre + half, method: "t", level: 0.95 };
}
