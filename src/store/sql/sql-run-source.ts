import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import { followRun, type RunChanges } from "../follow-run.ts";
import type { Unit } from "../run.ts";
import type { RunSource } from "../run-source.ts";
import { artifactsOf, cutValues, valueContent } from "../unit-values.ts";
import { listRuns } from "./list-runs.ts";
import { decodeUnit, readUnitPage, unitColumns, type StoredUnit } from "./read-unit-page.ts";
import { checkRun, readLastSeq, readRunRow, runColumns, toRun, type RunRow } from "./run-rows.ts";
import type { SqlDatabase } from "./sql-database.ts";

const maxChanges = 100;

/** Reads runs in SQL tables. Content of artifacts is stored for values only, not for files. */
export function openSqlRunSource(database: SqlDatabase, host: Host, clock: Clock): RunSource {
  const { dialect } = database;
  const readUnit = (runId: string, key: string): Promise<Unit | null> =>
    database.read(async (session) => {
      await checkRun(session, runId);
      // Without an index of keys: it would make every insert dearer than this scan is.
      const sql = `SELECT ${unitColumns} FROM rollout_units WHERE run_id = ? AND key = ? ORDER BY seq DESC LIMIT 1`;
      const [row] = await session.rows<StoredUnit>(sql, [runId, key]);
      return row ? decodeUnit(row) : null;
    });
  return {
    list: (filter, page) => listRuns(database, host, filter, page),

    get: (runId) =>
      database.read(async (session) => {
        const sql = `SELECT ${runColumns(dialect)} FROM rollout_runs WHERE id = ? AND is_removed = 0`;
        const [row] = await session.rows<RunRow>(sql, [runId]);
        return row ? toRun(row, host) : null;
      }),

    rows: (runId, query) => readUnitPage(database, runId, query, "row"),

    units: (runId, query) => readUnitPage(database, runId, query, "body"),

    async unit(runId, key) {
      const unit = await readUnit(runId, key);
      return unit && cutValues(unit);
    },

    async artifacts(runId, key) {
      const unit = await readUnit(runId, key);
      return unit === null ? [] : artifactsOf(unit);
    },

    async artifact(runId, key, name, range) {
      const unit = await readUnit(runId, key);
      return unit && valueContent(unit, name, range);
    },

    follow: (runId, cursor, signal) =>
      followRun({ read: (afterSeq) => readChanges(database, host, runId, afterSeq), cursor, clock, signal }),
  };
}

function readChanges(database: SqlDatabase, host: Host, runId: string, afterSeq: number): Promise<RunChanges> {
  return database.read(async (session) => {
    const row = await readRunRow(session, database.dialect, runId);
    const rows = await session.rows<StoredUnit & { seq: number }>(
      `SELECT seq, ${unitColumns} FROM rollout_units WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
      [runId, afterSeq, maxChanges],
    );
    return {
      run: toRun(row, host),
      units: rows.map((row) => ({ seq: row.seq, unit: decodeUnit(row) })),
      hasMore: rows.length === maxChanges,
      lastSeq: await readLastSeq(session, row),
    };
  });
}
