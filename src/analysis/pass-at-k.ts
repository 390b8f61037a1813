/** The chance that at least one of `k` attempts passes, unbiased from `c` passes in `n`; undefined when n < k. */
export function passAtK(n: number, c: number, k: number): number | undefined {
  if (n < k) return undefined;
  if (n - c < k) return 1;
  let allFail = 1;
  for (let j = n - c + 1; j <= n; j++) allFail *= 1 - k / j;
  return 1 - allFail;
}
