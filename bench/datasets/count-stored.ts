import type { Page, Store, Unit } from "../../src/public/datasets.ts";

/** Counts the stored results of a trivial run, each index once and only with the right output, and their scores. */
export async function countStored(store: Store, runId: string): Promise<{ results: number; scores: number }> {
  let [results, scores, last] = [0, 0, -1];
  for (let after: string | null = null; ;) {
    const page: Page<Unit, string> = await store.runs.units(runId, { page: { after, limit: 500 } });
    for (const unit of page.entries) {
      if (unit.index <= last || unit.output !== (unit.input as { readonly i: number }).i) continue;
      last = unit.index;
      results++;
      scores += unit.scores.length;
    }
    if (page.next === null) return { results, scores };
    after = page.next;
  }
}
