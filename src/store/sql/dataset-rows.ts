import { randomUUID } from "node:crypto";
import type { DatasetItem, DatasetRecord, DatasetTraits, DatasetVersion } from "../dataset-store.ts";
import { decodeItem } from "../item-body.ts";
import { unknownError, unknownVersionError } from "../store-error.ts";
import type { SqlDialect, SqlSession } from "./sql-database.ts";

export interface DatasetRow {
  readonly no: number;
  readonly id: string;
  readonly name: string;
  readonly traits: string;
  readonly version: number;
  readonly item_count: number;
  readonly last_position: number;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface VersionRow {
  readonly version: number;
  readonly note: string | null;
  readonly item_count: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly created_at: number;
}

export interface ItemRow {
  readonly position: number;
  readonly from_version: number;
  readonly until_version: number | null;
  readonly item_id: string;
  readonly body: string;
}

/** Values of `is_removed`: a draft is what a write of a new dataset hangs on before it is committed; nobody sees it. */
export const standing = 0;
export const draft = 2;

export const datasetColumns = "no, id, name, traits, version, item_count, last_position, created_at, updated_at";
export const versionColumns = "version, note, item_count, added, changed, removed, created_at";
export const itemColumns = "position, from_version, until_version, item_id, body";

/** The row of a dataset; rejects with `not_found` when there is none. */
export async function datasetRow(session: SqlSession, id: string, lock = ""): Promise<DatasetRow> {
  const sql = `SELECT ${datasetColumns} FROM rollout_datasets WHERE id = ? AND is_removed = 0${lock}`;
  const [row] = await session.rows<DatasetRow>(sql, [id]);
  if (!row) throw unknownError("dataset", id);
  return row;
}

/** Makes the row of a new dataset, null when its name is taken; one that is a draft has no name yet. */
export async function insertDataset(
  session: SqlSession,
  { now }: SqlDialect,
  traits: DatasetTraits,
  state: typeof standing | typeof draft,
): Promise<DatasetRow | null> {
  const [row] = await session.rows<DatasetRow>(
    `INSERT INTO rollout_datasets
      (id, name, traits, version, item_count, last_position, is_removed, created_at, updated_at)
      VALUES (?, ?, ?, 0, 0, 0, ${state}, ${now}, ${now}) ON CONFLICT (name) DO NOTHING RETURNING ${datasetColumns}`,
    [randomUUID(), state === draft ? randomUUID() : traits.name, encodeTraits(traits)],
  );
  return row ?? null;
}

/** The row of the dataset with a name, which is made when there is none. */
export async function namedRow(session: SqlSession, dialect: SqlDialect, traits: DatasetTraits): Promise<DatasetRow> {
  const made = await insertDataset(session, dialect, traits, standing);
  if (made) return made;
  const sql = `SELECT ${datasetColumns} FROM rollout_datasets WHERE name = ?${dialect.forUpdate}`;
  const [row] = await session.rows<DatasetRow>(sql, [traits.name]);
  if (!row) throw unknownError("dataset", traits.name);
  return row;
}

/** Rejects with `not_found` for a version that a dataset does not have. */
export function checkVersion(row: DatasetRow, version: number): void {
  if (!Number.isInteger(version) || version < 0 || version > row.version) {
    throw unknownVersionError(row.name, version, row.version);
  }
}

export function toDataset(row: DatasetRow): DatasetRecord {
  const { id, name, version } = row;
  const traits = JSON.parse(row.traits) as Omit<DatasetTraits, "name">;
  const [createdAt, updatedAt] = [row.created_at, row.updated_at];
  return { id, name, ...traits, version, itemCount: row.item_count, createdAt, updatedAt };
}

export function encodeTraits({ description, metadata, inputSchema, expectedOutputSchema, scorerIds }: DatasetTraits) {
  return JSON.stringify({ description, metadata, inputSchema, expectedOutputSchema, scorerIds });
}

export function toVersion(row: VersionRow): DatasetVersion {
  const { version, added, changed, removed } = row;
  const note = row.note === null ? null : (JSON.parse(row.note) as string);
  return { version, createdAt: row.created_at, note, itemCount: row.item_count, added, changed, removed };
}

export function toItem({ item_id, from_version, body }: ItemRow): DatasetItem {
  return decodeItem(item_id, from_version, body);
}
