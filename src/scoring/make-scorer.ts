import type { Scorer, ScorerRun, Verdict } from "./scorer.ts";
import type { ScorerOptions } from "./scorer-options.ts";

/** Makes a scorer that gives an item that failed no mark, and hands every other one's output to `mark`. */
export function makeScorer(
  options: ScorerOptions,
  description: string,
  fallbackId: string,
  mark: (output: unknown, run: ScorerRun) => Promise<Verdict> | Verdict,
): Scorer {
  const { id = fallbackId, name, read } = options;
  return {
    id,
    name,
    description: options.description ?? description,
    run: (run) =>
      run.error === null ? mark(read ? read(run) : run.output, run) : noMark(`the item failed: ${run.error}`),
  };
}

/** The verdict of somebody who cannot say anything, and why. */
export function noMark(reason: string): Verdict {
  return { score: null, reason };
}

/** 1 or 0, with the reason for a 0. */
export function passOrFail(hasPassed: boolean, reason: string): Verdict {
  return hasPassed ? { score: 1, reason: null } : { score: 0, reason };
}
