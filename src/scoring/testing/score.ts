import type { Scorer, ScorerRun, Verdict } from "../scorer.ts";

const plain: ScorerRun = {
  input: "",
  output: null,
  itemId: "item-1",
  metadata: {},
  durationMs: 10,
  usage: null,
  error: null,
  signal: new AbortController().signal,
};

/** Runs a scorer on an item of which only what matters is given. */
export async function score(scorer: Scorer, run: Partial<ScorerRun>): Promise<Verdict> {
  return await scorer.run({ ...plain, ...run });
}
