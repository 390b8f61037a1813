import { bootstrapInterval } from "../../analysis/bootstrap-interval.ts";
import { cohensKappa, type Pair } from "../../analysis/cohens-kappa.ts";
import type { Interval } from "../../analysis/interval.ts";
import { spearman } from "../../analysis/spearman.ts";
import { weightedKappa } from "../../analysis/weighted-kappa.ts";
import { wilsonInterval } from "../../analysis/wilson-interval.ts";

/** What a person and a judge said of the same item. */
export interface JudgedItem {
  /** The person's: a score, or the label of a choice. */
  readonly label: number | string;
  /** The judge's; null when it gave none. */
  readonly mark: number | string | null;
}

/** A value with the range in which it is known. */
export interface Estimate {
  readonly value: number;
  readonly interval: Interval | null;
}

/** How well a judge agrees with people. */
export interface Agreement {
  readonly items: number;
  /** Items that the judge gave no mark; they are not in the figures below. */
  readonly unmarked: number;
  /** The share of marks that are the label. */
  readonly accuracy: Estimate | null;
  /** Cohen's kappa: the agreement beyond chance. */
  readonly kappa: Estimate | null;
  /** With quadratic weights, for numbers. */
  readonly weightedKappa: Estimate | null;
  /** Whether both put items in the same order, for numbers. */
  readonly spearman: Estimate | null;
}

/** The agreement of a judge's marks with people's labels. */
export function measureAgreement(judged: readonly JudgedItem[]): Agreement {
  const pairs = judged.flatMap(({ label, mark }): Pair<number | string>[] =>
    mark === null ? [] : [[settled(label), settled(mark)]],
  );
  const numbers = pairs.filter((pair): pair is Pair<number> => pair.every((value) => typeof value === "number"));
  const hits = pairs.filter(([label, mark]) => label === mark).length;
  const ofNumbers = numbers.length === pairs.length ? numbers : [];
  return {
    items: judged.length,
    unmarked: judged.length - pairs.length,
    accuracy: pairs.length === 0 ? null : { value: hits / pairs.length, interval: wilsonInterval(hits, pairs.length) },
    kappa: estimate(pairs, cohensKappa),
    weightedKappa: estimate(ofNumbers, weightedKappa),
    spearman: estimate(ofNumbers, spearman),
  };
}

function estimate<T>(pairs: readonly T[], statistic: (pairs: readonly T[]) => number | null): Estimate | null {
  const value = statistic(pairs);
  return value === null ? null : { value, interval: bootstrapInterval(pairs, statistic) };
}

// A score of 0.1 + 0.2 is the label 0.3.
function settled(value: number | string): number | string {
  return typeof value === "number" ? Number(value.toFixed(9)) : value;
}
