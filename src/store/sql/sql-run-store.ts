import { randomUUID } from "node:crypto";
import type { Host } from "../../base/host.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { finishedError, heldError } from "../hold.ts";
import type { RunFilter, RunHold, RunPlan, RunRecord, RunStore } from "../run-store.ts";
import type { Page, PageWish } from "../store.ts";
import { checkLimit, checkName, takenError } from "../store-error.ts";
import { decodeResult } from "../unit-body.ts";
import { indexOfPlace, placeOf, runColumns, runRow, toRun, type RunRow, type UnitRow } from "./run-rows.ts";
import type { SqlDatabase, SqlSession, SqlValue } from "./sql-database.ts";
import { SqlRunHold } from "./sql-run-hold.ts";
import { sweep } from "./sweep.ts";

/** Runs in SQL tables. */
export function openSqlRunStore(database: SqlDatabase, host: Host): RunStore {
  const { dialect } = database;
  return {
    begin: (plan, owner) => begin(database, host, plan, owner),
    take: (runId, owner, which = "unfinished") => take(database, host, { runId, owner, which }),

    find: (runId) =>
      database.read(async (session) => {
        const sql = `SELECT ${runColumns(dialect)} FROM rollout_runs WHERE id = ? AND is_removed = 0`;
        const [row] = await session.rows<RunRow>(sql, [runId]);
        return row ? toRun(row, host) : null;
      }),

    list: (filter, wish) => database.read((session) => list(database, session, host, filter, wish)),

    async remove(runId) {
      await database.write(async (session) => {
        const row = await runRow(session, dialect, runId, dialect.forUpdate);
        const { isHeld, holder } = toRun(row, host);
        if (isHeld && holder) throw heldError(runId, holder);
        const sql = "UPDATE rollout_runs SET is_removed = 1, id = ?, token = NULL WHERE no = ?";
        await session.run(sql, [randomUUID(), row.no]);
      });
      await sweep(database, host);
    },

    async results(runId, wish) {
      const { rows, next } = await readUnits(database, runId, wish, "status, body");
      return { entries: rows.map(({ idx, status, body }) => decodeResult(idx, status, body)), next };
    },

    async outcomes(runId, wish) {
      const { rows, next } = await readUnits(database, runId, wish, "status");
      return { entries: rows.map(({ idx, status }) => ({ index: idx, status })), next };
    },
  };
}

async function readUnits(
  database: SqlDatabase,
  runId: string,
  { after, limit }: PageWish,
  columns: "status, body" | "status",
): Promise<{ readonly rows: readonly UnitRow[]; readonly next: number | null }> {
  checkLimit(limit);
  return await database.read(async (session) => {
    const { no } = await runRow(session, database.dialect, runId);
    const rows = await session.rows<UnitRow>(
      `SELECT ${indexOfPlace} AS idx, ${columns} FROM rollout_units
        WHERE place >= ? AND place < ? AND status <> '' ORDER BY place LIMIT ?`,
      [placeOf(no, (after ?? -1) + 1), placeOf(no + 1, 0), limit],
    );
    return { rows, next: rows.length < limit ? null : (rows.at(-1)?.idx ?? null) };
  });
}

async function begin(database: SqlDatabase, host: Host, plan: RunPlan, owner: ProcessOwner): Promise<RunHold> {
  checkName("the id of a run", plan.id);
  const token = randomUUID();
  const { now } = database.dialect;
  return database.write(async (session) => {
    const [row] = await session.rows<RunRow>(
      `INSERT INTO rollout_runs
        (id, kind, dataset_id, plan, status, is_finished, token, holder, beat_at, is_removed, created_at)
        VALUES (?, ?, ?, ?, 'running', 0, ?, ?, ${now}, 0, ${now})
        ON CONFLICT (id) DO NOTHING RETURNING ${runColumns(database.dialect)}`,
      [plan.id, plan.kind, plan.datasetId, JSON.stringify(plan), token, JSON.stringify(owner)],
    );
    if (!row) throw takenError(`run ${plan.id}`);
    return new SqlRunHold(database, row.no, token, toRun(row, host));
  });
}

interface Taking {
  readonly runId: string;
  readonly owner: ProcessOwner;
  readonly which: "unfinished" | "any";
}

async function take(database: SqlDatabase, host: Host, { runId, owner, which }: Taking): Promise<RunHold> {
  const token = randomUUID();
  const { dialect } = database;
  return database.write(async (session) => {
    const row = await runRow(session, dialect, runId, dialect.forUpdate);
    const { isFinished, isHeld, holder } = toRun(row, host);
    if (isFinished && which !== "any") throw finishedError(runId);
    if (isHeld && holder) throw heldError(runId, holder);
    await session.run(
      `UPDATE rollout_runs SET status = 'running', token = ?, holder = ?, beat_at = ${dialect.now}, ended_at = NULL
        WHERE no = ?`,
      [token, JSON.stringify(owner), row.no],
    );
    return new SqlRunHold(database, row.no, token, toRun(await runRow(session, dialect, runId), host));
  });
}

async function list(
  { dialect }: SqlDatabase,
  session: SqlSession,
  host: Host,
  { kind, datasetId }: RunFilter,
  { after, limit }: PageWish<string>,
): Promise<Page<RunRecord, string>> {
  checkLimit(limit);
  const wanted: [string, SqlValue][] = [["no < ?", after === null ? Number.MAX_SAFE_INTEGER : Number(after)]];
  if (kind !== undefined) wanted.push(["kind = ?", kind]);
  if (datasetId !== undefined) wanted.push(["dataset_id = ?", datasetId]);
  const rows = await session.rows<RunRow>(
    `SELECT ${runColumns(dialect)} FROM rollout_runs
      WHERE is_removed = 0 AND ${wanted.map(([sql]) => sql).join(" AND ")} ORDER BY no DESC LIMIT ?`,
    [...wanted.map(([, value]) => value), limit],
  );
  const next = rows.length < limit ? null : String(rows.at(-1)?.no);
  return { entries: rows.map((row) => toRun(row, host)), next };
}
