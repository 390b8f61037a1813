import { setImmediate } from "node:timers/promises";
import type { Host } from "../../base/host.ts";
import { isOwnerAlive, parseOwner } from "../../base/process-owner.ts";
import { draft } from "./dataset-rows.ts";
import type { SqlDatabase, SqlSession, SqlValue } from "./sql-database.ts";

const rowsPerTransaction = 1_000;

interface WriteRow {
  readonly no: number;
  readonly owner: string;
  readonly is_over: number;
  readonly silent_ms: number;
}

/** Deletes what readers no longer see: abandoned writes, writes whose process died, removed datasets and removed runs. */
export async function sweep(database: SqlDatabase, host: Host): Promise<void> {
  const { now } = database.dialect;
  const found = await database.read(async (session) => ({
    writes: await session.rows<WriteRow>(
      `SELECT no, owner, is_over, ${now} - beat_at AS silent_ms FROM rollout_writes`,
    ),
    datasets: await session.rows<{ no: number }>("SELECT no FROM rollout_datasets WHERE is_removed = 1"),
    runs: await session.rows<{ id: string }>("SELECT id FROM rollout_runs WHERE is_removed = 1"),
  }));
  for (const { no, owner, is_over, silent_ms } of found.writes) {
    const process = parseOwner(owner);
    if (is_over === 1 || process === null || !isOwnerAlive(process, host, silent_ms)) await sweepWrite(database, no);
  }
  for (const { no } of found.datasets) {
    await deleteInChunks(database, {
      table: "rollout_items",
      where: "dataset_no = ?",
      values: [no],
      order: "position",
    });
    await database.write(async (session) => {
      await session.run("DELETE FROM rollout_dataset_versions WHERE dataset_no = ?", [no]);
      // The last write to it may still be open. The process that has it open deletes the dataset when the write is over.
      const sql = "DELETE FROM rollout_datasets WHERE no = ? AND NOT EXISTS";
      await session.run(`${sql} (SELECT 1 FROM rollout_writes WHERE dataset_no = ?)`, [no, no]);
    });
  }
  for (const { id } of found.runs) await sweepRun(database, id);
}

/** Deletes a removed run and its units. Does nothing for a run that is not removed. */
export async function sweepRun(database: SqlDatabase, runId: string): Promise<void> {
  const sql = `SELECT 1 FROM rollout_runs WHERE id = ? AND is_removed = 1${database.dialect.forUpdate}`;
  // Checked in each transaction: another process may have deleted the run, and a new one may have its id.
  const isRemoved = async (session: SqlSession): Promise<boolean> => (await session.rows(sql, [runId])).length > 0;
  await deleteInChunks(
    database,
    { table: "rollout_units", where: "run_id = ?", values: [runId], order: "idx" },
    isRemoved,
  );
  await database.write((session) => session.run("DELETE FROM rollout_runs WHERE id = ? AND is_removed = 1", [runId]));
}

/** Ends a write and deletes what it staged, with the dataset that it was to create. */
export async function sweepWrite(database: SqlDatabase, writeNo: number): Promise<void> {
  await database.write((session) => session.run("UPDATE rollout_writes SET is_over = 1 WHERE no = ?", [writeNo]));
  await deleteInChunks(database, { table: "rollout_staged", where: "write_no = ?", values: [writeNo], order: "seq" });
  await database.write(async (session) => {
    const [row] = await session.rows<{ dataset_no: number }>(
      "DELETE FROM rollout_writes WHERE no = ? RETURNING dataset_no",
      [writeNo],
    );
    if (row) await session.run(`DELETE FROM rollout_datasets WHERE no = ? AND is_removed = ${draft}`, [row.dataset_no]);
  });
}

interface Rows {
  readonly table: string;
  readonly where: string;
  readonly values: readonly SqlValue[];
  readonly order: string;
}

async function deleteInChunks(
  database: SqlDatabase,
  { table, where, values, order }: Rows,
  canDelete: (session: SqlSession) => Promise<boolean> = async () => true,
): Promise<void> {
  const inOrder = `SELECT CAST(${order} AS TEXT) AS edge FROM ${table} WHERE ${where} ORDER BY ${order}`;
  for (;;) {
    const isLast = await database.write(async (session) => {
      if (!(await canDelete(session))) return true;
      const [end] = await session.rows<{ edge: string }>(`${inOrder} LIMIT 1 OFFSET ?`, [
        ...values,
        rowsPerTransaction - 1,
      ]);
      const sql = `DELETE FROM ${table} WHERE ${where}`;
      await (end ? session.run(`${sql} AND ${order} <= ?`, [...values, BigInt(end.edge)]) : session.run(sql, values));
      return end === undefined;
    });
    if (isLast) return;
    await setImmediate();
  }
}
