import type { Interval } from "./interval.ts";
import { tQuantile } from "./t-quantile.ts";
import { wilsonInterval } from "./wilson-interval.ts";

/** The mean of values that come cluster by cluster, with the interval that `summarizeMarks` gives, in constant memory. */
export class RunningMean {
  /** Differences from the first value lose no digits where the values themselves would. */
  #offset: number | null = null;
  #clusters = 0;
  #values = 0;
  #sum = 0;
  #total = 0;
  #squares = 0;
  #products = 0;
  #counts = 0;
  #isInUnit = true;
  #isBinary = true;
  #lowestMean = Number.POSITIVE_INFINITY;
  #highestMean = Number.NEGATIVE_INFINITY;

  /** All values of one cluster; none at all is no cluster. */
  addCluster(values: readonly number[]): void {
    const count = values.length;
    if (count === 0) return;
    this.#offset ??= values[0] ?? 0;
    let sum = 0;
    let whole = 0;
    for (const value of values) {
      sum += value - this.#offset;
      whole += value;
      if (value < 0 || value > 1) this.#isInUnit = false;
    }
    const mean = whole / count;
    if (mean !== 0 && mean !== 1) this.#isBinary = false;
    this.#lowestMean = Math.min(this.#lowestMean, mean);
    this.#highestMean = Math.max(this.#highestMean, mean);
    this.#clusters++;
    this.#values += count;
    this.#sum += sum;
    this.#total += whole;
    this.#squares += sum * sum;
    this.#products += sum * count;
    this.#counts += count * count;
  }

  copy(): RunningMean {
    const copy = new RunningMean();
    copy.#offset = this.#offset;
    copy.#clusters = this.#clusters;
    copy.#values = this.#values;
    copy.#sum = this.#sum;
    copy.#total = this.#total;
    copy.#squares = this.#squares;
    copy.#products = this.#products;
    copy.#counts = this.#counts;
    copy.#isInUnit = this.#isInUnit;
    copy.#isBinary = this.#isBinary;
    copy.#lowestMean = this.#lowestMean;
    copy.#highestMean = this.#highestMean;
    return copy;
  }

  get count(): number {
    return this.#values;
  }

  get mean(): number | null {
    return this.#values === 0 ? null : this.#total / this.#values;
  }

  get interval(): Interval | null {
    const { mean } = this;
    if (mean === null) return null;
    const isFlat = this.#highestMean - this.#lowestMean < 1e-12;
    if (this.#isInUnit && (isFlat || this.#isBinary)) return wilsonInterval(mean * this.#clusters, this.#clusters);
    if (isFlat) return null;
    const half = tQuantile(0.975, this.#clusters - 1) * this.#standardError();
    const { low, high } = { low: mean - half, high: mean + half };
    const bounds = this.#isInUnit ? { low: Math.max(0, low), high: Math.min(1, high) } : { low, high };
    return { ...bounds, method: "t", level: 0.95 };
  }

  #standardError(): number {
    const centre = this.#sum / this.#values;
    const deviations = this.#squares - 2 * centre * this.#products + centre * centre * this.#counts;
    return Math.sqrt((Math.max(0, deviations) * this.#clusters) / (this.#clusters - 1)) / this.#values;
  }
}
