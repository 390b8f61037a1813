import type { Store } from "../../src/public/datasets.ts";

/** How many results of a trivial run a store has, each place once and only with the right output, and how many scores. */
export async function countStored(store: Store, runId: string): Promise<{ results: number; scores: number }> {
  let [results, scores, last] = [0, 0, -1];
  for (let after: number | null = null; ;) {
    const { entries, next } = await store.runs.results(runId, { after, limit: 500 });
    for (const { result, scores: given } of entries) {
      if (result.index <= last || result.output !== (result.input as { readonly i: number }).i) continue;
      last = result.index;
      results++;
      scores += given.length;
    }
    if (next === null) return { results, scores };
    after = next;
  }
}
