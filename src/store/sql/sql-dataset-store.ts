import { randomUUID } from "node:crypto";
import type { Host } from "../../base/host.ts";
import type { DatasetStore, DatasetTraits } from "../dataset-store.ts";
import { checkLimit, checkName, takenError } from "../store-error.ts";
import { emptyVersion } from "../empty-version.ts";
import {
  checkVersion,
  datasetColumns,
  datasetRow,
  encodeTraits,
  insertDataset,
  itemColumns,
  standing,
  toDataset,
  toItem,
  toVersion,
  versionColumns,
  type DatasetRow,
  type ItemRow,
  type VersionRow,
} from "./dataset-rows.ts";
import { readDiff } from "./read-diff.ts";
import type { SqlDatabase, SqlSession } from "./sql-database.ts";
import { openSqlWrite } from "./sql-dataset-write.ts";
import { sweep } from "./sweep.ts";

/** Datasets in SQL tables. */
export function openSqlDatasetStore(database: SqlDatabase, host: Host): DatasetStore {
  const { forUpdate } = database.dialect;
  return {
    async create(traits) {
      checkName("the name of a dataset", traits.name);
      return database.write(async (session) => {
        const row = await insertDataset(session, database.dialect, traits, standing);
        if (!row) throw takenError(`dataset "${traits.name}"`);
        return toDataset(row);
      });
    },

    find: (idOrName) => database.read((session) => findDataset(session, idOrName)),

    list({ after, limit }) {
      checkLimit(limit);
      return database.read(async (session) => {
        const rows = await session.rows<DatasetRow>(
          `SELECT ${datasetColumns} FROM rollout_datasets WHERE name > ? AND is_removed = 0 ORDER BY name LIMIT ?`,
          [after ?? "", limit],
        );
        return { entries: rows.map(toDataset), next: rows.length < limit ? null : (rows.at(-1)?.name ?? null) };
      });
    },

    update: (datasetId, changes) => database.write((session) => updateTraits(database, session, datasetId, changes)),

    async remove(datasetId) {
      await database.write(async (session) => {
        const { no } = await datasetRow(session, datasetId, forUpdate);
        const gone = randomUUID();
        await session.run("UPDATE rollout_datasets SET is_removed = 1, id = ?, name = ? WHERE no = ?", [
          gone,
          gone,
          no,
        ]);
        await session.run("UPDATE rollout_writes SET is_over = 1 WHERE dataset_no = ?", [no]);
      });
      await sweep(database, host);
    },

    openWrite: (wish) => openSqlWrite(database, host, wish),

    versions(datasetId, { after, limit }) {
      checkLimit(limit);
      return database.read(async (session) => {
        const { no, version } = await datasetRow(session, datasetId);
        const rows = await session.rows<VersionRow>(
          `SELECT ${versionColumns} FROM rollout_dataset_versions
            WHERE dataset_no = ? AND version < ? ORDER BY version DESC LIMIT ?`,
          [no, after ?? version + 1, limit],
        );
        return { entries: rows.map(toVersion), next: rows.length < limit ? null : (rows.at(-1)?.version ?? null) };
      });
    },

    version: (datasetId, version) => database.read((session) => readVersion(session, datasetId, version)),

    items(datasetId, version, { after, limit }) {
      checkLimit(limit);
      return database.read(async (session) => {
        const dataset = await datasetRow(session, datasetId);
        checkVersion(dataset, version);
        const isNewest = version === dataset.version;
        const rows = await session.rows<ItemRow>(isNewest ? newestItems : pastItems, [
          dataset.no,
          after ?? -1,
          ...(isNewest ? [] : [version, version]),
          limit,
        ]);
        return { entries: rows.map(toItem), next: rows.length < limit ? null : (rows.at(-1)?.position ?? null) };
      });
    },

    item: (datasetId, version, itemId) =>
      database.read(async (session) => {
        const dataset = await datasetRow(session, datasetId);
        checkVersion(dataset, version);
        const [row] = await session.rows<ItemRow>(
          `SELECT ${itemColumns} FROM rollout_items WHERE dataset_no = ? AND item_id = ? AND ${standsAt}`,
          [dataset.no, itemId, version, version],
        );
        return row ? toItem(row) : null;
      }),

    history: (datasetId, itemId) =>
      database.read(async (session) => {
        const { no, version } = await datasetRow(session, datasetId);
        const rows = await session.rows<ItemRow>(
          `SELECT ${itemColumns} FROM rollout_items
            WHERE dataset_no = ? AND item_id = ? AND from_version <= ? ORDER BY from_version DESC`,
          [no, itemId, version],
        );
        return rows.map((row) => ({ item: toItem(row), until: row.until_version }));
      }),

    diff(datasetId, from, to, wish) {
      checkLimit(wish.limit);
      return readDiff(database, { datasetId, from, to }, wish);
    },
  };
}

const standsAt = "from_version <= ? AND (until_version IS NULL OR until_version > ?)";
const newestItems = `SELECT ${itemColumns} FROM rollout_items
  WHERE dataset_no = ? AND position > ? AND until_version IS NULL ORDER BY position LIMIT ?`;
const pastItems = `SELECT ${itemColumns} FROM rollout_items
  WHERE dataset_no = ? AND position > ? AND ${standsAt} ORDER BY position LIMIT ?`;

async function findDataset(session: SqlSession, idOrName: string) {
  const rows = await session.rows<DatasetRow>(
    `SELECT ${datasetColumns} FROM rollout_datasets WHERE (id = ? OR name = ?) AND is_removed = 0`,
    [idOrName, idOrName],
  );
  const row = rows.find(({ id }) => id === idOrName) ?? rows[0];
  return row ? toDataset(row) : null;
}

async function readVersion(session: SqlSession, datasetId: string, version: number) {
  const { no, created_at } = await datasetRow(session, datasetId);
  if (version === 0) return emptyVersion(created_at);
  const sql = `SELECT ${versionColumns} FROM rollout_dataset_versions WHERE dataset_no = ? AND version = ?`;
  const [row] = await session.rows<VersionRow>(sql, [no, version]);
  return row ? toVersion(row) : null;
}

async function updateTraits(
  { dialect }: SqlDatabase,
  session: SqlSession,
  datasetId: string,
  changes: Partial<DatasetTraits>,
) {
  const row = await datasetRow(session, datasetId, dialect.forUpdate);
  const traits = { ...toDataset(row), ...changes };
  checkName("the name of a dataset", traits.name);
  const sql = "SELECT no FROM rollout_datasets WHERE name = ? AND no <> ?";
  if ((await session.rows(sql, [traits.name, row.no])).length > 0) throw takenError(`dataset "${traits.name}"`);
  const [changed] = await session.rows<DatasetRow>(
    `UPDATE rollout_datasets SET name = ?, traits = ?, updated_at = ${dialect.now} WHERE no = ?
      RETURNING ${datasetColumns}`,
    [traits.name, encodeTraits(traits), row.no],
  );
  return toDataset(changed ?? row);
}
