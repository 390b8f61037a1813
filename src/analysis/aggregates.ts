/** The sum, exact to the last digits however many values there are; null when there are none. */
export function sum(values: Iterable<number>): number | null {
  let total = 0;
  let lost = 0;
  let any = false;
  for (const value of values) {
    const next = total + value;
    // What the addition rounded away is kept apart and given back at the end.
    lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total;
    total = next;
    any = true;
  }
  return any ? total + lost : null;
}

/** The arithmetic mean; null when there are no values. */
export function mean(values: readonly number[]): number | null {
  const total = sum(values);
  return total === null ? null : total / values.length;
}

/** The smallest value; null when there are none. */
export function min(values: Iterable<number>): number | null {
  let least: number | null = null;
  for (const value of values) if (least === null || value < least) least = value;
  return least;
}

/** The largest value; null when there are none. */
export function max(values: Iterable<number>): number | null {
  let most: number | null = null;
  for (const value of values) if (most === null || value > most) most = value;
  return most;
}
