import type { RunLease } from "../../store/run-store.ts";
import type { Unit } from "../../store/run.ts";
import type { Store } from "../../store/store.ts";

const pageSize = 500;

/** Passes every unit that an earlier session finished to `restore`. Units that were cut off are removed, so that they run again. */
export async function readEarlierWork(
  store: Store,
  lease: RunLease,
  restore: (unit: Unit) => Promise<void>,
): Promise<void> {
  for (let after: string | null = null; ;) {
    const { entries, next } = await store.runs.units(lease.run.id, { page: { after, limit: pageSize } });
    const cancelled: number[] = [];
    for (const unit of entries) {
      if (unit.status === "cancelled") cancelled.push(unit.index);
      else await restore(unit);
    }
    if (cancelled.length > 0) await lease.remove(cancelled);
    if (next === null) return;
    after = next;
  }
}

/** Yields every stored unit of a run, in order. */
export async function* readUnits(store: Store, runId: string): AsyncIterable<Unit> {
  for (let after: string | null = null; ;) {
    const { entries, next } = await store.runs.units(runId, { page: { after, limit: pageSize } });
    yield* entries;
    if (next === null) return;
    after = next;
  }
}
