import type { RunHold } from "../../store/run-store.ts";
import type { Store } from "../../store/store.ts";
import type { ItemWithScores } from "../summary.ts";
import { fromStoredResult } from "./to-stored-result.ts";

const pageSize = 500;

/** Hands every result that an earlier session finished to `keep`; what was cut off is forgotten, so that it runs again. */
export async function readEarlierWork(
  store: Store,
  hold: RunHold,
  keep: (item: ItemWithScores) => Promise<void>,
): Promise<void> {
  for (let after: number | null = null; ;) {
    const { entries, next } = await store.runs.results(hold.run.id, { after, limit: pageSize });
    const cut: number[] = [];
    for (const entry of entries) {
      if (entry.result.status === "interrupted") cut.push(entry.result.index);
      else await keep(fromStoredResult(entry));
    }
    if (cut.length > 0) await hold.forget(cut);
    if (next === null) return;
    after = next;
  }
}

/** Every result of a run, in its order. */
export async function* readStoredItems(store: Store, runId: string): AsyncIterable<ItemWithScores> {
  for (let after: number | null = null; ;) {
    const { entries, next } = await store.runs.results(runId, { after, limit: pageSize });
    for (const entry of entries) yield fromStoredResult(entry);
    if (next === null) return;
    after = next;
  }
}
