/** A range that holds the true value in `level` of all repetitions, and how it was computed. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  readonly method: "wilson" | "t" | "bootstrap";
  readonly level: 0.95;
}
