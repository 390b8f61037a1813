import type { Pair } from "./cohens-kappa.ts";

/**
 * Cohen's kappa of numbers with quadratic weights: a near miss costs less than a far one. 1 for the same numbers, 0 for
 * chance; null without pairs and when nothing differs at all.
 */
export function weightedKappa(pairs: readonly Pair<number>[]): number | null {
  const n = pairs.length;
  let [sumA, sumB, squaresA, squaresB, apart] = [0, 0, 0, 0, 0];
  for (const [a, b] of pairs) {
    sumA += a;
    sumB += b;
    squaresA += a * a;
    squaresB += b * b;
    apart += (a - b) ** 2;
  }
  // The mean squared distance of every first number from every second one.
  const byChance = (squaresA + squaresB) / n - (2 * sumA * sumB) / (n * n);
  return n === 0 || byChance <= Number.EPSILON * (squaresA + squaresB) ? null : 1 - apart / n / byChance;
}
