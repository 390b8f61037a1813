import { z } from "zod";
import { fallingScore } from "./falling-score.ts";
import { makeScorer } from "./make-scorer.ts";
import type { Scorer } from "./scorer.ts";
import { readOptions, scorerShape } from "./read-options.ts";
import type { ScorerOptions } from "./scorer-options.ts";

export interface LatencyOptions extends Omit<ScorerOptions, "read"> {
  /** From here on the mark is 0. */
  readonly limitMs: number;
  /** Up to here the mark is 1, and it falls evenly to the limit; without it, it is 1 up to the limit. */
  readonly targetMs?: number | undefined;
}

const { read: _, ...shape } = scorerShape;
const schema = z
  .strictObject({ ...shape, limitMs: z.number().positive(), targetMs: z.number().nonnegative().optional() })
  .refine(({ limitMs, targetMs = 0 }) => targetMs < limitMs, { path: ["targetMs"], message: "must be below limitMs" });

/** Marks how long the target took: pass or fail at a limit, or falling from 1 at a target to 0 at the limit. */
export function latency(options: LatencyOptions): Scorer {
  const { limitMs, targetMs, ...common } = readOptions("latency", schema, options);
  return makeScorer(common, `takes at most ${targetMs ?? limitMs} ms`, "latency", (_output, { durationMs }) => ({
    score: fallingScore(durationMs, targetMs, limitMs),
    reason: `took ${Math.round(durationMs)} ms`,
  }));
}
