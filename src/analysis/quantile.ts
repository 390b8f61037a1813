/** The `q` quantile (0 to 1), interpolated between neighbours; null when there are no values. */
export function quantile(values: readonly number[], q: number): number | null {
  return quantiles(values, [q])?.[0] ?? null;
}

/** Several quantiles of the same values for the price of one sort; null when there are no values. */
export function quantiles(values: readonly number[], qs: readonly number[]): number[] | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  return qs.map((q) => {
    const position = Math.min(Math.max(q, 0), 1) * (sorted.length - 1);
    const below = sorted[Math.floor(position)] ?? Number.NaN;
    const above = sorted[Math.ceil(position)] ?? Number.NaN;
    return below + (above - below) * (position - Math.floor(position));
  });
}
