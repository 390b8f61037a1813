import type { Clock } from "../../../base/clock.ts";
import type { ProcessOwner } from "../../../base/process-owner.ts";
import type { Store } from "../../../store/store.ts";
import type { ExperimentShelf, KeptRun } from "../experiment-shelf.ts";
import { findInPages } from "./find-in-pages.ts";
import { StoreOutput } from "./store-output.ts";
import { fromStored } from "./stored-run.ts";

export interface StoreShelfOptions {
  readonly store: Store;
  readonly owner: ProcessOwner;
  readonly clock: Clock;
}

const pageSize = 200;

/** Experiments in a store, as runs like those of datasets. */
export function openStoreShelf({ store, owner, clock }: StoreShelfOptions): ExperimentShelf {
  const { runs } = store;
  const open = { location: store.location, clock };
  return {
    find: (id) => runs.find(id),
    async begin(plan) {
      return new StoreOutput({ ...open, hold: await runs.begin(plan, owner), findKept: null, keepsSummary: false });
    },
    async resume(id) {
      const hold = await runs.take(id, owner, "any");
      return new StoreOutput({ ...open, hold, findKept: findInPages(store, id), keepsSummary: false });
    },
    async rescore(id) {
      const hold = await runs.take(id, owner, "any");
      return new StoreOutput({ ...open, hold, findKept: null, keepsSummary: true });
    },
    runs: (id) => readRuns(store, id),
    examples: async () => null,
  };
}

async function* readRuns(store: Store, id: string): AsyncIterable<KeptRun> {
  for (let after: number | null = null; ;) {
    const { entries, next } = await store.runs.results(id, { after, limit: pageSize });
    for (const entry of entries) if (entry.result.status !== "interrupted") yield fromStored(entry);
    if (next === null) return;
    after = next;
  }
}
