import { mean } from "./aggregates.ts";

export interface ClusteredStandardErrorOptions {
  /** Corrects for few clusters by C / (C - 1); on unless told otherwise. */
  readonly finiteFactor?: boolean | undefined;
}

/** The standard error of the mean of values that depend on one another within a cluster; null below two clusters. */
export function clusteredStandardError(
  values: readonly number[],
  clusters: readonly (string | number)[],
  options: ClusteredStandardErrorOptions = {},
): number | null {
  const centre = mean(values);
  if (centre === null) return null;
  const sums = new Map<string | number | undefined, number>();
  values.forEach((value, index) => {
    const cluster = clusters[index];
    sums.set(cluster, (sums.get(cluster) ?? 0) + value - centre);
  });
  const count = sums.size;
  if (count < 2) return null;
  let squares = 0;
  for (const deviation of sums.values()) squares += deviation * deviation;
  const factor = options.finiteFactor === false ? 1 : count / (count - 1);
  return Math.sqrt(squares * factor) / values.length;
}
