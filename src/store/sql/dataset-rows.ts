import type { DatasetItem, DatasetRecord, DatasetTraits, DatasetVersion } from "../dataset-store.ts";
import { decodeItem } from "../item-body.ts";
import { unknownError, unknownVersionError } from "../store-error.ts";
import type { SqlSession } from "./sql-database.ts";

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
