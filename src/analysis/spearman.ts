import type { Pair } from "./cohens-kappa.ts";

/** Spearman's rank correlation, ties sharing their mean rank; null below two pairs and when one side never changes. */
export function spearman(pairs: readonly Pair<number>[]): number | null {
  const a = ranksOf(pairs.map(([value]) => value));
  const b = ranksOf(pairs.map(([, value]) => value));
  const middle = (pairs.length + 1) / 2;
  let [covariance, varianceA, varianceB] = [0, 0, 0];
  for (const [index, rank] of a.entries()) {
    const other = (b[index] ?? 0) - middle;
    covariance += (rank - middle) * other;
    varianceA += (rank - middle) ** 2;
    varianceB += other ** 2;
  }
  if (varianceA === 0 || varianceB === 0) return null;
  return Math.max(-1, Math.min(1, covariance / Math.sqrt(varianceA * varianceB)));
}

function ranksOf(values: readonly number[]): Float64Array {
  const order = values.map((_, index) => index).sort((x, y) => (values[x] ?? 0) - (values[y] ?? 0));
  const ranks = new Float64Array(values.length);
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && values[order[end] ?? 0] === values[order[start] ?? 0]) end++;
    for (let place = start; place < end; place++) ranks[order[place] ?? 0] = (start + end + 1) / 2;
    start = end;
  }
  return ranks;
}
