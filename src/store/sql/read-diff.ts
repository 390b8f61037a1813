import { setImmediate } from "node:timers/promises";
import type { ItemChange } from "../dataset-store.ts";
import type { Page, PageRequest } from "../store.ts";
import { checkVersion, datasetRow, itemColumns, toItem, type ItemRow } from "./dataset-rows.ts";
import type { SqlDatabase, SqlSession } from "./sql-database.ts";

interface Versions {
  readonly datasetId: string;
  readonly from: number;
  readonly to: number;
}

// So many editions are looked at in one go; a large dataset with few changes would hold the event loop otherwise.
const windowSize = 5_000;

/** The items that differ between two versions, in the dataset's order. */
export async function readDiff(
  database: SqlDatabase,
  versions: Versions,
  { after, limit }: PageRequest,
): Promise<Page<ItemChange>> {
  const entries: ItemChange[] = [];
  let position = after ?? -1;
  for (;;) {
    const window = await database.read((session) => readWindow(session, versions, position));
    for (const change of window.changes) {
      entries.push(change.entry);
      if (entries.length === limit) return { entries, next: change.position };
    }
    if (window.last === null) return { entries, next: null };
    position = window.last;
    await setImmediate();
  }
}

interface Window {
  readonly changes: readonly { readonly position: number; readonly entry: ItemChange }[];
  /** Null when it reached the end. */
  readonly last: number | null;
}

async function readWindow(session: SqlSession, { datasetId, from, to }: Versions, after: number): Promise<Window> {
  const dataset = await datasetRow(session, datasetId);
  checkVersion(dataset, from);
  checkVersion(dataset, to);
  const [end] = await session.rows<{ position: number }>(
    `SELECT position FROM rollout_items WHERE dataset_no = ? AND position > ? ORDER BY position LIMIT 1 OFFSET ?`,
    [dataset.no, after, windowSize - 1],
  );
  const low = Math.min(from, to);
  const high = Math.max(from, to);
  const rows = await session.rows<ItemRow>(
    `SELECT ${itemColumns} FROM rollout_items WHERE dataset_no = ? AND position > ? AND position <= ?
      AND ((from_version > ? AND from_version <= ?) OR (until_version > ? AND until_version <= ?))
      ORDER BY position, from_version`,
    [dataset.no, after, end?.position ?? dataset.last_position, low, high, low, high],
  );
  const byPosition = Map.groupBy(rows, ({ position }) => position);
  const changes = [...byPosition].flatMap(([position, editions]) => {
    const entry = changeOf(editions, from, to);
    return entry === null ? [] : [{ position, entry }];
  });
  return { changes, last: end?.position ?? null };
}

function changeOf(editions: readonly ItemRow[], from: number, to: number): ItemChange | null {
  const at = (version: number): ItemRow | null =>
    editions.find((row) => row.from_version <= version && (row.until_version ?? Infinity) > version) ?? null;
  const [before, after] = [at(from), at(to)];
  if (before?.body === after?.body) return null;
  const id = editions[0]?.item_id ?? "";
  return { id, before: before && toItem(before), after: after && toItem(after) };
}
