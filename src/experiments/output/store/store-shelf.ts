import type { Clock } from "../../../base/clock.ts";
import type { ProcessOwner } from "../../../base/process-owner.ts";
import type { RunRecord } from "../../../store/run-store.ts";
import type { Page, Store } from "../../../store/store.ts";
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
    list: () => listRuns(store),
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
    count: (id) => countRuns(store, id),
    runs: (id) => readRuns(store, id),
    examples: async () => null,
  };
}

async function* listRuns(store: Store): AsyncIterable<RunRecord> {
  for (let after: string | null = null; ;) {
    const page: Page<RunRecord, string> = await store.runs.list({ kind: "experiment" }, { after, limit: pageSize });
    yield* page.entries;
    if (page.next === null) return;
    after = page.next;
  }
}

async function countRuns(store: Store, id: string): Promise<{ succeeded: number; failed: number }> {
  const counts = { succeeded: 0, failed: 0, interrupted: 0 };
  for (let after: number | null = null; ;) {
    const { entries, next } = await store.runs.outcomes(id, { after, limit: 10 * pageSize });
    for (const { status } of entries) counts[status]++;
    if (next === null) return counts;
    after = next;
  }
}

async function* readRuns(store: Store, id: string): AsyncIterable<KeptRun> {
  for (let after: number | null = null; ;) {
    const { entries, next } = await store.runs.results(id, { after, limit: pageSize });
    for (const entry of entries) if (entry.result.status !== "interrupted") yield fromStored(entry);
    if (next === null) return;
    after = next;
  }
}
