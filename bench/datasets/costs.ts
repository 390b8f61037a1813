import { median } from "../trials/measure.ts";
import type { Outcome } from "./contender.ts";

/** The outcomes of each contender, store and number of scorers, without rounds in which it ended with an error. */
export type Costs = Map<string, readonly (Outcome & { readonly round: number })[]>;

/** Microseconds on the wall and of the processors that an item took, in the middle of all rounds. */
function perItem(outcomes: readonly Outcome[]): { readonly wallUs: number; readonly cpuUs: number } {
  return {
    wallUs: median(outcomes.map(({ wallMs, items }) => (wallMs * 1000) / items)),
    cpuUs: median(outcomes.map(({ cpuMs, items }) => (cpuMs * 1000) / items)),
  };
}

/** Prints what an item takes on the wall and of the processors, and the most memory that a process had. */
export function printCosts(costs: Costs, contenders: readonly string[], scorerCounts: readonly number[]): void {
  for (const store of ["none", "memory", "file"]) {
    for (const name of contenders.filter((each) =>
      scorerCounts.some((scorers) => costs.has(`${each} ${store} ${scorers}`)),
    )) {
      const cells = scorerCounts.map((scorers) => {
        const outcomes = costs.get(`${name} ${store} ${scorers}`) ?? [];
        const { wallUs, cpuUs } = perItem(outcomes);
        const lost = outcomes.reduce((sum, { items, results }) => sum + items - results, 0);
        const cell = `${scorers}: ${(1e6 / wallUs).toFixed(0)}/s ${wallUs.toFixed(0)} µs, ${cpuUs.toFixed(0)} µs CPU`;
        return lost === 0 ? cell : `${cell}, ${lost} LOST`;
      });
      const peak = Math.max(
        ...scorerCounts.flatMap((scorers) =>
          (costs.get(`${name} ${store} ${scorers}`) ?? []).map((each) => each.peakBytes),
        ),
      );
      console.log(`  ${store.padEnd(6)} ${name.padEnd(9)} ${cells.join(" | ")} | ${(peak / 1e6).toFixed(0)} MB`);
    }
  }
}
