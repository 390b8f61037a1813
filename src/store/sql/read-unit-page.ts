import { PageSelection, type SortPosition, type SortValue } from "../page-rows.ts";
import type { Unit, UnitRow } from "../run.ts";
import type { UnitOrder, UnitQuery } from "../run-source.ts";
import type { Page } from "../store.ts";
import { matchesUnit } from "../unit-filter.ts";
import { toUnit, type UnitTexts } from "../unit-row.ts";
import { checkRun } from "./run-rows.ts";
import type { SqlDatabase } from "./sql-database.ts";

const sortColumns: Readonly<Record<UnitOrder, string>> = {
  index: "idx",
  key: "key",
  status: "status",
  score: "score",
  started: "started_at",
  duration: "duration_sec",
  cost: "spend_usd",
  failure: "failure_type",
};

// SQLite works in this thread: other work gets its turn after each query of so many rows.
const rowsPerQuery = 1_000;
const bodiesPerQuery = 100;

interface PositionRow {
  readonly idx: number;
  readonly value: SortValue;
  /** Only read for a filter. */
  readonly content?: string;
}

/** A unit in its two JSON columns. */
export interface StoredUnit {
  readonly row: string;
  readonly body: string;
}

export const unitColumns = '"row", body';

export function decodeUnit({ row, body }: StoredUnit): Unit {
  return toUnit(JSON.parse(row) as UnitRow, JSON.parse(body) as UnitTexts);
}

/** Reads a page of units. `row`: without their texts, and without reading bodies. */
export async function readUnitPage<Column extends "row" | "body">(
  database: SqlDatabase,
  runId: string,
  query: UnitQuery,
  column: Column,
): Promise<Page<Column extends "row" ? UnitRow : Unit, string>> {
  const selection = new PageSelection<SortPosition>(query);
  await database.read((session) => checkRun(session, runId));
  const { entries, next } = await findPage(database, runId, selection, query);
  const contents = await readContents(
    database,
    runId,
    column,
    entries.map(({ index }) => index),
  );
  const decode = (stored: StoredUnit): Unit | UnitRow =>
    column === "row" ? (JSON.parse(stored.row) as UnitRow) : decodeUnit(stored);
  return { entries: contents.map(decode) as (Column extends "row" ? UnitRow : Unit)[], next };
}

// In parts by index, whatever the order is: sorting all units of a large run in one query would block this thread.
async function findPage(
  database: SqlDatabase,
  runId: string,
  selection: PageSelection<SortPosition>,
  { filter }: UnitQuery,
): Promise<Page<SortPosition, string>> {
  const isByIndex = selection.by === "index";
  const isBackwards = isByIndex && selection.isDescending;
  const columns = `${sortColumns[selection.by]} AS value${filter === undefined ? "" : ', "row" AS content'}`;
  const sql = `SELECT idx, ${columns} FROM rollout_units WHERE run_id = ? AND idx ${isBackwards ? "<" : ">"} ?
    ORDER BY idx ${isBackwards ? "DESC" : "ASC"} LIMIT ?`;
  const start = isBackwards ? Number.MAX_SAFE_INTEGER : -1;
  for (let after = isByIndex ? (selection.after?.index ?? start) : start; ;) {
    const rows = await database.read((session) => session.rows<PositionRow>(sql, [runId, after, rowsPerQuery]));
    for (const { idx, value, content } of rows) {
      if (filter !== undefined && !matchesUnit(filter, JSON.parse(content ?? "") as UnitRow)) continue;
      selection.add({ index: idx, value });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsPerQuery || (isByIndex && selection.isFull)) return selection.page();
    after = last.idx;
  }
}

/** Returns some units, in the given order. `row`: without reading bodies. Units that were removed meanwhile are left out. */
async function readContents(
  database: SqlDatabase,
  runId: string,
  column: "row" | "body",
  indexes: readonly number[],
): Promise<readonly StoredUnit[]> {
  const contents = new Map<number, StoredUnit>();
  const step = column === "row" ? rowsPerQuery : bodiesPerQuery;
  for (let from = 0; from < indexes.length; from += step) {
    const rows = await database.read((session) =>
      session.rows<StoredUnit & { idx: number }>(
        `SELECT idx, ${column === "row" ? '"row"' : unitColumns} FROM rollout_units
          WHERE run_id = ? AND idx IN (${database.dialect.integers})`,
        [runId, JSON.stringify(indexes.slice(from, from + step))],
      ),
    );
    for (const row of rows) contents.set(row.idx, row);
  }
  return indexes.flatMap((index) => contents.get(index) ?? []);
}
