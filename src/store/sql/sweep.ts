import { setImmediate } from "node:timers/promises";
import type { Host } from "../../base/host.ts";
import { isOwnerAlive, parseOwner } from "../../base/process-owner.ts";
import { draft } from "./dataset-rows.ts";
import { placeOf } from "./run-rows.ts";
import type { SqlDatabase, SqlValue } from "./sql-database.ts";

const rowsAtOnce = 1_000;

interface WriteRow {
  readonly no: number;
  readonly owner: string;
  readonly is_over: number;
  readonly silent_ms: number;
}

/** Removes what nobody sees any more: writes that were given up or whose process died, removed datasets and runs. */
export async function sweep(database: SqlDatabase, host: Host): Promise<void> {
  const { now } = database.dialect;
  const found = await database.read(async (session) => ({
    writes: await session.rows<WriteRow>(
      `SELECT no, owner, is_over, ${now} - beat_at AS silent_ms FROM rollout_writes`,
    ),
    datasets: await session.rows<{ no: number }>("SELECT no FROM rollout_datasets WHERE is_removed = 1"),
    runs: await session.rows<{ no: number }>("SELECT no FROM rollout_runs WHERE is_removed = 1"),
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
      // The last write to it may still be open; whoever has it removes its rows when it is over.
      const sql = "DELETE FROM rollout_datasets WHERE no = ? AND NOT EXISTS";
      await session.run(`${sql} (SELECT 1 FROM rollout_writes WHERE dataset_no = ?)`, [no, no]);
    });
  }
  for (const { no } of found.runs) {
    const values = [placeOf(no, 0), placeOf(no + 1, 0)];
    await deleteInChunks(database, {
      table: "rollout_units",
      where: "place >= ? AND place < ?",
      values,
      order: "place",
    });
    await database.write((session) => session.run("DELETE FROM rollout_runs WHERE no = ?", [no]));
  }
}

/** Ends a write, so that nothing more is put to it, and removes what it staged, with the dataset that it did not come to make. */
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

async function deleteInChunks(database: SqlDatabase, { table, where, values, order }: Rows): Promise<void> {
  const inOrder = `SELECT CAST(${order} AS TEXT) AS edge FROM ${table} WHERE ${where} ORDER BY ${order}`;
  for (;;) {
    const isLast = await database.write(async (session) => {
      const [end] = await session.rows<{ edge: string }>(`${inOrder} LIMIT 1 OFFSET ?`, [...values, rowsAtOnce - 1]);
      const sql = `DELETE FROM ${table} WHERE ${where}`;
      await (end ? session.run(`${sql} AND ${order} <= ?`, [...values, BigInt(end.edge)]) : session.run(sql, values));
      return end === undefined;
    });
    if (isLast) return;
    await setImmediate();
  }
}
