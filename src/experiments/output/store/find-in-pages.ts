import type { ResultWithScores } from "../../../store/run-store.ts";
import type { Store } from "../../../store/store.ts";

const pageSize = 200;

/** Finds results by their places, which come in order: a page is read once, and the next one takes its place. */
export function findInPages(store: Store, runId: string): (index: number) => Promise<ResultWithScores | null> {
  let from = -1;
  let page = new Map<number, ResultWithScores>();
  return async (index) => {
    const start = index - (index % pageSize);
    if (start !== from) {
      const { entries } = await store.runs.results(runId, { after: start - 1, limit: pageSize });
      page = new Map(entries.map((entry) => [entry.result.index, entry]));
      from = start;
    }
    return page.get(index) ?? null;
  };
}
