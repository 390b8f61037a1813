import type { SqlDialect } from "./sql-database.ts";

/** The version of the tables below. A store with another one is refused. */
export const schemaVersion = 1;

/** Returns the statements that create the tables of a store. */
export function createTables({ serial, name }: SqlDialect): readonly string[] {
  return [
    `CREATE TABLE rollout_datasets (
      no ${serial}, id ${name} NOT NULL UNIQUE, name ${name} NOT NULL UNIQUE,
      traits TEXT NOT NULL, version BIGINT NOT NULL, item_count BIGINT NOT NULL, last_position BIGINT NOT NULL,
      is_removed BIGINT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)`,
    `CREATE TABLE rollout_dataset_versions (
      dataset_no BIGINT NOT NULL REFERENCES rollout_datasets (no), version BIGINT NOT NULL, note TEXT,
      item_count BIGINT NOT NULL, added BIGINT NOT NULL, changed BIGINT NOT NULL, removed BIGINT NOT NULL,
      created_at BIGINT NOT NULL, PRIMARY KEY (dataset_no, version))`,
    // An item keeps its position for life. The rows of one position are its editions.
    `CREATE TABLE rollout_items (
      dataset_no BIGINT NOT NULL REFERENCES rollout_datasets (no), position BIGINT NOT NULL,
      from_version BIGINT NOT NULL, until_version BIGINT, item_id ${name} NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (dataset_no, position, from_version))`,
    "CREATE INDEX rollout_items_by_id ON rollout_items (dataset_no, item_id, from_version)",
    // Lets pages of the newest version skip old editions.
    `CREATE UNIQUE INDEX rollout_items_standing ON rollout_items (dataset_no, position) WHERE until_version IS NULL`,
    `CREATE TABLE rollout_writes (
      no ${serial}, dataset_no BIGINT NOT NULL REFERENCES rollout_datasets (no), owner TEXT NOT NULL,
      is_over BIGINT NOT NULL, beat_at BIGINT NOT NULL)`,
    // A null body removes the item.
    `CREATE TABLE rollout_staged (
      write_no BIGINT NOT NULL REFERENCES rollout_writes (no), item_id ${name} NOT NULL, seq BIGINT NOT NULL, body TEXT,
      PRIMARY KEY (write_no, item_id))`,
    "CREATE INDEX rollout_staged_in_order ON rollout_staged (write_no, seq)",
    // last_seq counts numbers of removed units; see `readLastSeq`.
    `CREATE TABLE rollout_runs (
      id ${name} NOT NULL PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL,
      created_at BIGINT NOT NULL, dataset_id ${name}, tags TEXT NOT NULL, run TEXT NOT NULL,
      lease_token TEXT, lease_owner TEXT, lease_renewed_at BIGINT NOT NULL,
      last_seq BIGINT NOT NULL, is_removed BIGINT NOT NULL)`,
    "CREATE INDEX rollout_runs_newest ON rollout_runs (created_at, id)",
    "CREATE INDEX rollout_runs_of_dataset ON rollout_runs (dataset_id, created_at)",
    // The body comes last: SQLite then reads the columns before it without the pages that a long body overflows to. For the
    // same reason the table has a rowid: without one, every row of more than 1 KB overflows. There is no foreign key, because
    // every write checks the lease of its run.
    `CREATE TABLE rollout_units (
      run_id ${name} NOT NULL, idx BIGINT NOT NULL, key ${name} NOT NULL, status TEXT NOT NULL,
      score DOUBLE PRECISION, started_at BIGINT NOT NULL, duration_sec DOUBLE PRECISION NOT NULL,
      spend_usd DOUBLE PRECISION, failure_type TEXT, seq BIGINT NOT NULL, "row" TEXT NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (run_id, idx))`,
    "CREATE INDEX rollout_units_by_seq ON rollout_units (run_id, seq)",
  ];
}
