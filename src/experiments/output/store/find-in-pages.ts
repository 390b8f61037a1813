import type { Unit } from "../../../store/run.ts";
import type { Store } from "../../../store/store.ts";

const pageSize = 200;

/** Finds units by index. Indexes are asked for in ascending order, so that one page is held at a time. */
export function findInPages(store: Store, runId: string): (index: number) => Promise<Unit | null> {
  let after: string | null = null;
  let isLast = false;
  let page = new Map<number, Unit>();
  let last = -1;
  return async (index) => {
    while (index > last && !isLast) {
      const { entries, next } = await store.runs.units(runId, { page: { after, limit: pageSize } });
      page = new Map(entries.map((unit) => [unit.index, unit]));
      last = entries.at(-1)?.index ?? Number.POSITIVE_INFINITY;
      after = next;
      isLast = next === null;
    }
    return page.get(index) ?? null;
  };
}
