import { setImmediate } from "node:timers/promises";
import { emptyVersion } from "../empty-version.ts";
import type { DatasetVersion, WriteWish } from "../dataset-store.ts";
import { lostWriteError } from "../store-error.ts";
import { datasetRow, namedRow, toVersion, versionColumns, type DatasetRow, type VersionRow } from "./dataset-rows.ts";
import type { SqlDatabase, SqlSession } from "./sql-database.ts";

// Rows per statement: an engine that works in our own thread must not hold the event loop for long.
const rowsAtOnce = 1_000;

interface Counts {
  added: number;
  changed: number;
  removed: number;
}

interface Commit {
  readonly session: SqlSession;
  readonly dataset: DatasetRow;
  readonly writeNo: number;
  /** The version it makes. */
  readonly version: number;
  readonly counts: Counts;
}

/** Turns what a write staged into the next version of its dataset, or into nothing when it changes nothing. */
export function commitWrite(
  database: SqlDatabase,
  writeNo: number,
  lastSeq: number,
  { datasetId, mode, note }: WriteWish,
): Promise<DatasetVersion> {
  const { dialect } = database;
  return database.write(async (session) => {
    const dataset =
      typeof datasetId === "string"
        ? await datasetRow(session, datasetId, dialect.forUpdate)
        : await namedRow(session, dialect, datasetId);
    const sql = "UPDATE rollout_writes SET is_over = 1 WHERE no = ? AND is_over = 0";
    if ((await session.run(sql, [writeNo])) === 0) throw lostWriteError();
    const counts = { added: 0, changed: 0, removed: 0 };
    const commit: Commit = { session, dataset, writeNo, version: dataset.version + 1, counts };
    for (let seq = 0; seq < lastSeq; seq += rowsAtOnce) {
      await applyStaged(commit, seq, seq + rowsAtOnce);
      await setImmediate();
    }
    if (mode === "replace") await removeOthers(commit);
    if (counts.added + counts.changed + counts.removed === 0) return newestVersion(session, dataset);
    const { added, changed, removed } = counts;
    const itemCount = dataset.item_count + added - removed;
    await session.run(
      `UPDATE rollout_datasets SET version = ?, item_count = ?, last_position = ?, updated_at = ${dialect.now} WHERE no = ?`,
      [commit.version, itemCount, dataset.last_position + lastSeq, dataset.no],
    );
    const [row] = await session.rows<VersionRow>(
      `INSERT INTO rollout_dataset_versions (dataset_no, version, note, item_count, added, changed, removed, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ${dialect.now}) RETURNING ${versionColumns}`,
      [dataset.no, commit.version, note === null ? null : JSON.stringify(note), itemCount, added, changed, removed],
    );
    return row ? toVersion(row) : newestVersion(session, dataset);
  }, "bulk");
}

// Spelled so that no engine, however little it knows of its tables, looks for the items of a chunk by their places.
function stands(table: string): string {
  return `COALESCE(${table}.until_version, -1) = -1`;
}

async function applyStaged({ session, dataset, writeNo, version, counts }: Commit, after: number, to: number) {
  const range = [writeNo, after, to];
  counts.removed += await session.run(
    `UPDATE rollout_items SET until_version = ? WHERE dataset_no = ? AND ${stands("rollout_items")} AND item_id IN
      (SELECT item_id FROM rollout_staged WHERE write_no = ? AND seq > ? AND seq <= ? AND body IS NULL)`,
    [version, dataset.no, ...range],
  );
  const changed = await session.run(
    `UPDATE rollout_items SET until_version = ? WHERE dataset_no = ? AND ${stands("rollout_items")} AND item_id IN
      (SELECT s.item_id FROM rollout_staged s JOIN rollout_items i
        ON i.dataset_no = ? AND i.item_id = s.item_id AND ${stands("i")}
        WHERE s.write_no = ? AND s.seq > ? AND s.seq <= ? AND s.body <> i.body)`,
    [version, dataset.no, dataset.no, ...range],
  );
  // An item that was there before goes back to its place.
  const inserted = await session.run(
    `INSERT INTO rollout_items (dataset_no, position, from_version, until_version, item_id, body)
      SELECT CAST(? AS BIGINT), COALESCE(
          (SELECT o.position FROM rollout_items o WHERE o.dataset_no = ? AND o.item_id = s.item_id
            ORDER BY o.from_version LIMIT 1),
          CAST(? AS BIGINT) + s.seq), CAST(? AS BIGINT), NULL, s.item_id, s.body
        FROM rollout_staged s WHERE s.write_no = ? AND s.seq > ? AND s.seq <= ? AND s.body IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM rollout_items i
            WHERE i.dataset_no = ? AND i.item_id = s.item_id AND ${stands("i")})`,
    [dataset.no, dataset.no, dataset.last_position, version, ...range, dataset.no],
  );
  counts.changed += changed;
  counts.added += inserted - changed;
}

async function removeOthers({ session, dataset, writeNo, version, counts }: Commit): Promise<void> {
  for (let after = -1; after < dataset.last_position;) {
    const [end] = await session.rows<{ position: number }>(
      `SELECT position FROM rollout_items
        WHERE dataset_no = ? AND until_version IS NULL AND position > ? ORDER BY position LIMIT 1 OFFSET ?`,
      [dataset.no, after, rowsAtOnce - 1],
    );
    // What this write added lies behind the last place of before.
    const to = Math.min(end?.position ?? dataset.last_position, dataset.last_position);
    counts.removed += await session.run(
      `UPDATE rollout_items SET until_version = ?
        WHERE dataset_no = ? AND until_version IS NULL AND position > ? AND position <= ? AND NOT EXISTS
          (SELECT 1 FROM rollout_staged s
            WHERE s.write_no = ? AND s.item_id = rollout_items.item_id AND s.body IS NOT NULL)`,
      [version, dataset.no, after, to, writeNo],
    );
    after = to;
    await setImmediate();
  }
}

async function newestVersion(session: SqlSession, dataset: DatasetRow): Promise<DatasetVersion> {
  const [row] = await session.rows<VersionRow>(
    `SELECT ${versionColumns} FROM rollout_dataset_versions WHERE dataset_no = ? AND version = ?`,
    [dataset.no, dataset.version],
  );
  return row ? toVersion(row) : emptyVersion(dataset.created_at);
}
