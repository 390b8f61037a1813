import { z } from "zod";
import { fallingScore } from "./falling-score.ts";
import { makeScorer, noMark } from "./make-scorer.ts";
import type { Scorer } from "./scorer.ts";
import { readOptions, scorerShape } from "./read-options.ts";
import type { ScorerOptions } from "./scorer-options.ts";

export interface CostOptions extends Omit<ScorerOptions, "read"> {
  /** From here on the mark is 0. */
  readonly limitUsd: number;
  /** Up to here the mark is 1, and it falls evenly to the limit; without it, it is 1 up to the limit. */
  readonly targetUsd?: number | undefined;
}

const { read: _, ...shape } = scorerShape;
const schema = z
  .strictObject({ ...shape, limitUsd: z.number().positive(), targetUsd: z.number().nonnegative().optional() })
  .refine(({ limitUsd, targetUsd = 0 }) => targetUsd < limitUsd, {
    path: ["targetUsd"],
    message: "must be below limitUsd",
  });

/** Marks what the target cost, as `latency` marks its time; an unknown cost gets no mark. */
export function cost(options: CostOptions): Scorer {
  const { limitUsd, targetUsd, ...common } = readOptions("cost", schema, options);
  return makeScorer(common, `costs at most ${targetUsd ?? limitUsd} USD`, "cost", (_output, { usage }) => {
    const spent = usage?.costUsd ?? null;
    if (spent === null) return noMark("the target does not say what it cost");
    return { score: fallingScore(spent, targetUsd, limitUsd), reason: `cost ${spent} USD` };
  });
}
