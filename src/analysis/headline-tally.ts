import type { Interval } from "./interval.ts";
import { RunningMean } from "./running-mean.ts";

/** The outcome of one attempt at an item: a score, a failure that counts as not passed, or one that is left out. */
export type Attempt = { readonly value: number } | "missed" | "excluded";

export interface TalliedHeadline {
  /** `mean` if some score is neither 0 nor 1. */
  readonly measure: "pass_rate" | "mean";
  readonly value: number | null;
  readonly interval: Interval | null;
  readonly passed: number;
  readonly counted: number;
}

interface OpenItem {
  left: number;
  readonly values: number[];
  readonly passes: number[];
}

/** Computes the headline of a run attempt by attempt, in memory that does not grow with the number of items. */
export class HeadlineTally {
  readonly #passAt: number;
  readonly #repeats: number;
  readonly #values = new RunningMean();
  readonly #passes = new RunningMean();
  /** Items with attempts to come. Empty unless items are repeated. */
  readonly #open = new Map<string, OpenItem>();
  #passed = 0;
  #isGraded = false;

  constructor(passAt: number, repeats: number) {
    this.#passAt = passAt;
    this.#repeats = repeats;
  }

  add(item: string, attempt: Attempt): void {
    const open = this.#open.get(item) ?? { left: this.#repeats, values: [], passes: [] };
    open.left--;
    if (attempt === "missed") open.passes.push(0);
    else if (attempt !== "excluded") {
      const { value } = attempt;
      const pass = value >= this.#passAt ? 1 : 0;
      this.#passed += pass;
      if (value !== 0 && value !== 1) this.#isGraded = true;
      open.values.push(value);
      open.passes.push(pass);
    }
    if (open.left > 0) this.#open.set(item, open);
    else {
      this.#open.delete(item);
      close(open, this.#values, this.#passes);
    }
  }

  /** The headline so far. Items with attempts to come count with those they have. */
  summarize(): TalliedHeadline {
    const values = this.#values.copy();
    const passes = this.#passes.copy();
    for (const open of this.#open.values()) close(open, values, passes);
    const shown = this.#isGraded ? values : passes;
    return {
      measure: this.#isGraded ? "mean" : "pass_rate",
      value: shown.mean,
      interval: shown.interval,
      passed: this.#passed,
      counted: passes.count,
    };
  }
}

function close({ values: itemValues, passes: itemPasses }: OpenItem, values: RunningMean, passes: RunningMean): void {
  values.addCluster(itemValues);
  passes.addCluster(itemPasses);
}
