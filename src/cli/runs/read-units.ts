import type { Unit, UnitRow } from "../../store/run.ts";
import type { RunSource, UnitQuery } from "../../store/run-source.ts";

const pageSize = 500;

type Query = Omit<UnitQuery, "page">;

/** Yields the units of a run, page by page. */
export async function* readUnits(source: RunSource, runId: string, query: Query = {}): AsyncGenerator<Unit, void> {
  for (let after: string | null = null; ;) {
    const { entries, next } = await source.units(runId, { ...query, page: { after, limit: pageSize } });
    yield* entries;
    if (next === null) return;
    after = next;
  }
}

/** Returns all units of a run without their texts. */
export async function readRows(source: RunSource, runId: string, query: Query = {}): Promise<UnitRow[]> {
  const rows: UnitRow[] = [];
  for (let after: string | null = null; ;) {
    const { entries, next } = await source.rows(runId, { ...query, page: { after, limit: pageSize } });
    rows.push(...entries);
    if (next === null) return rows;
    after = next;
  }
}
