/** The chance that all of `k` attempts pass, unbiased from `c` passes in `n`; undefined when n < k. */
export function passHatK(n: number, c: number, k: number): number | undefined {
  if (n < k) return undefined;
  let allPass = 1;
  for (let j = 0; j < k; j++) allPass *= Math.max(0, c - j) / (n - j);
  return allPass;
}
