/** The `p` quantile of Student's t distribution with `df` degrees of freedom, to about 1e-10. */
export function tQuantile(p: number, df: number): number {
  if (!(p > 0 && p < 1) || !(df > 0)) return Number.NaN;
  if (p === 0.5) return 0;
  if (p < 0.5) return -tQuantile(1 - p, df);
  const tail = 1 - p;
  let low = 0;
  let high = 2;
  while (upperTail(high, df) > tail) {
    low = high;
    high *= 2;
  }
  // Halving needs no good start and no derivative, and ends when the two are neighbouring numbers.
  for (let middle = (low + high) / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (upperTail(middle, df) > tail) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function upperTail(t: number, df: number): number {
  const a = df / 2;
  const x = df / (df + t * t);
  const y = (t * t) / (df + t * t);
  const factor = (Math.exp(-a * Math.log1p((t * t) / df)) * Math.sqrt(y) * gammaRatio(a)) / Math.sqrt(Math.PI);
  // The fraction converges quickly only on its own side of the mean.
  if (x < (a + 1) / (a + 2.5)) return (factor * betaFraction(x, a, 0.5)) / (2 * a);
  return (1 - factor * 2 * betaFraction(y, 0.5, a)) / 2;
}

/** Gamma(a + 1/2) / Gamma(a): lifted to where its series is exact, then brought back. */
function gammaRatio(a: number): number {
  let lifted = a;
  let factor = 1;
  for (; lifted < 40; lifted++) factor *= lifted / (lifted + 0.5);
  const series = -1 / (8 * lifted) + 1 / (192 * lifted ** 3) - 1 / (640 * lifted ** 5);
  return factor * Math.sqrt(lifted) * Math.exp(series);
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  const awayFromZero = (value: number): number => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m < 100_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / awayFromZero(1 + even * d);
    c = awayFromZero(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / awayFromZero(1 + odd * d);
    c = awayFromZero(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return result;
}
