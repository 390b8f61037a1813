/** Two judgements of the same thing. */
export type Pair<T> = readonly [T, T];

/**
 * Cohen's kappa: how much more two judges agree than chance would have them, 1 for always and 0 for chance; null without
 * pairs, and when both always say the same one thing, for then chance explains everything.
 */
export function cohensKappa(pairs: readonly Pair<string | number>[]): number | null {
  const first = new Map<string | number, number>();
  const second = new Map<string | number, number>();
  let same = 0;
  for (const [a, b] of pairs) {
    first.set(a, (first.get(a) ?? 0) + 1);
    second.set(b, (second.get(b) ?? 0) + 1);
    if (a === b) same++;
  }
  const n = pairs.length;
  let byChance = 0;
  for (const [label, count] of first) byChance += count * (second.get(label) ?? 0);
  return n === 0 || byChance === n * n ? null : (same / n - byChance / (n * n)) / (1 - byChance / (n * n));
}
