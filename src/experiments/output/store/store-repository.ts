import type { Clock } from "../../../base/clock.ts";
import type { ProcessOwner } from "../../../base/process-owner.ts";
import type { Unit, UnitRow } from "../../../store/run.ts";
import type { Page, Store } from "../../../store/store.ts";
import { unknownError } from "../../../store/store-error.ts";
import type { ExperimentOutput, StoredExample } from "../experiment-output.ts";
import type { ExperimentRepository } from "../experiment-repository.ts";
import { readPlan } from "../plan-experiment.ts";
import { findInPages } from "./find-in-pages.ts";
import { StoreOutput } from "./store-output.ts";
import { fromUnit } from "./stored-example.ts";

export interface StoreRepositoryOptions {
  readonly store: Store;
  readonly owner: ProcessOwner;
  readonly clock: Clock;
}

const pageSize = 200;

/** Opens the experiments of a store. */
export function openStoreRepository({ store, owner, clock }: StoreRepositoryOptions): ExperimentRepository {
  const { runs } = store;
  const us = { pid: owner.pid, hostname: owner.hostname };
  const reopen = async (id: string, isRescore: boolean): Promise<ExperimentOutput> => {
    const known = await runs.get(id);
    if (known === null) throw unknownError("run", id);
    const names = readPlan(known);
    const lease = await runs.resume(id, owner, { allowCompleted: true });
    const run = {
      ...lease.run,
      status: known.status,
      isResumable: known.isResumable,
      endedAt: known.endedAt,
      owner: us,
    };
    // Taking the lease marked the run as running. A scoring that is killed must leave it as it was.
    if (isRescore) await lease.renew(run);
    const findUnit = isRescore ? null : findInPages(store, id);
    return new StoreOutput({ lease, run, names, clock, findUnit, keepsRun: isRescore });
  };
  return {
    find: (id) => runs.get(id),
    async begin(planned) {
      const names = readPlan(planned);
      const run = { ...planned, location: store.location, owner: us };
      const lease = await runs.create(run, owner);
      return new StoreOutput({ lease, run, names, clock, findUnit: null, keepsRun: false });
    },
    resume: (id) => reopen(id, false),
    rescore: (id) => reopen(id, true),
    count: (id) => countRuns(store, id),
    runs: (id) => readRuns(store, id),
    examples: async () => null,
  };
}

async function countRuns({ runs }: Store, id: string): Promise<{ succeeded: number; failed: number }> {
  const counts = { completed: 0, failed: 0, cancelled: 0 };
  for (let after: string | null = null; ;) {
    const page: Page<UnitRow, string> = await runs.rows(id, { page: { after, limit: 10 * pageSize } });
    for (const { status } of page.entries) counts[status]++;
    if (page.next === null) return { succeeded: counts.completed, failed: counts.failed };
    after = page.next;
  }
}

async function* readRuns({ runs }: Store, id: string): AsyncIterable<StoredExample> {
  for (let after: string | null = null; ;) {
    const page: Page<Unit, string> = await runs.units(id, { page: { after, limit: pageSize } });
    for (const unit of page.entries) if (unit.status !== "cancelled") yield fromUnit(unit);
    if (page.next === null) return;
    after = page.next;
  }
}
