import type { ScorerRun } from "./scorer.ts";

/** What every scorer that comes with us can be given. */
export interface ScorerOptions {
  /** The name under which the scores are kept; needed to use a kind of scorer twice. */
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** What to mark, when it is not the output as it is. */
  readonly read?: ((run: ScorerRun) => unknown) | undefined;
}

/** What a scorer that compares with something known can be given. */
export interface ComparingOptions extends ScorerOptions {
  /** What to compare with, when it is not the item's ground truth. */
  readonly expected?: ((run: ScorerRun) => unknown) | undefined;
}
