/** Remembers which unit each line of a file belongs to, in the order of the file. */
export class LineLog {
  readonly #ends: number[] = [];
  readonly #units: number[] = [];

  /** Adds the line of a unit that ends at an offset. Lines are added in the order of the file. */
  add(unit: number, end: number): void {
    this.#ends.push(end);
    this.#units.push(unit);
  }

  /** Returns the units of the lines that end after `from` and not after `to`, in the order of the last line of each. */
  between(from: number, to: number): ReadonlySet<number> {
    const units = new Set<number>();
    for (let at = this.#firstAfter(from); at < this.#ends.length; at++) {
      if ((this.#ends[at] ?? 0) > to) break;
      const unit = this.#units[at] ?? 0;
      // A set keeps the place of the first insertion.
      units.delete(unit);
      units.add(unit);
    }
    return units;
  }

  #firstAfter(offset: number): number {
    let [low, high] = [0, this.#ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ends[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
