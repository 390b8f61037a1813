import type { SqlDialect } from "./sql-database.ts";

/** The steps that bring a store from one version of its tables to the next, oldest first; what was released is never changed. */
export const migrations: readonly ((dialect: SqlDialect) => readonly string[])[] = [
  firstTables,
  scoresWithResults,
  smallRows,
];

function firstTables({ serial, counter, name }: SqlDialect): readonly string[] {
  return [
    `CREATE TABLE rollout_datasets (
      no ${serial}, id ${name} NOT NULL UNIQUE, name ${name} NOT NULL UNIQUE,
      traits TEXT NOT NULL, version BIGINT NOT NULL, item_count BIGINT NOT NULL, last_position BIGINT NOT NULL,
      is_removed BIGINT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)`,
    `CREATE TABLE rollout_dataset_versions (
      dataset_no BIGINT NOT NULL REFERENCES rollout_datasets (no), version BIGINT NOT NULL, note TEXT,
      item_count BIGINT NOT NULL, added BIGINT NOT NULL, changed BIGINT NOT NULL, removed BIGINT NOT NULL,
      created_at BIGINT NOT NULL, PRIMARY KEY (dataset_no, version))`,
    // An item keeps its place for life, so that a place is an item and its rows are its editions.
    `CREATE TABLE rollout_items (
      dataset_no BIGINT NOT NULL REFERENCES rollout_datasets (no), position BIGINT NOT NULL,
      from_version BIGINT NOT NULL, until_version BIGINT, item_id ${name} NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (dataset_no, position, from_version))`,
    "CREATE INDEX rollout_items_by_id ON rollout_items (dataset_no, item_id, from_version)",
    // Pages of the newest version pass over nothing, however often the dataset was rewritten.
    `CREATE UNIQUE INDEX rollout_items_standing ON rollout_items (dataset_no, position) WHERE until_version IS NULL`,
    `CREATE TABLE rollout_writes (
      no ${serial}, dataset_no BIGINT NOT NULL REFERENCES rollout_datasets (no), owner TEXT NOT NULL,
      is_over BIGINT NOT NULL, beat_at BIGINT NOT NULL)`,
    // A body that is null takes the item away.
    `CREATE TABLE rollout_staged (
      write_no BIGINT NOT NULL REFERENCES rollout_writes (no), item_id ${name} NOT NULL, seq BIGINT NOT NULL, body TEXT,
      PRIMARY KEY (write_no, item_id))`,
    "CREATE INDEX rollout_staged_in_order ON rollout_staged (write_no, seq)",
    `CREATE TABLE rollout_runs (
      no ${serial}, id ${name} NOT NULL UNIQUE, kind TEXT NOT NULL, dataset_id ${name},
      plan TEXT NOT NULL, status TEXT NOT NULL, is_finished BIGINT NOT NULL, last_word TEXT,
      token TEXT, holder TEXT, beat_at BIGINT NOT NULL, is_removed BIGINT NOT NULL,
      created_at BIGINT NOT NULL, ended_at BIGINT)`,
    "CREATE INDEX rollout_runs_of_dataset ON rollout_runs (dataset_id, no)",
    `CREATE TABLE rollout_results (
      run_no BIGINT NOT NULL REFERENCES rollout_runs (no), idx BIGINT NOT NULL, status TEXT NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (run_no, idx))`,
    `CREATE TABLE rollout_scores (
      no ${counter}, run_no BIGINT NOT NULL REFERENCES rollout_runs (no), idx BIGINT NOT NULL, scorer_id ${name} NOT NULL,
      score DOUBLE PRECISION, body TEXT NOT NULL, UNIQUE (run_no, idx, scorer_id))`,
  ];
}

// The scores of a unit go into its row, and the row's place is its only key.
function scoresWithResults({ place, quote }: SqlDialect): readonly string[] {
  const json = (column: string): string => `coalesce(CAST(${quote}(${column}) AS TEXT), 'null')`;
  const score = `'{"index":' || idx || ',"scorerId":' || ${json("scorer_id")} || ',"score":' || ${json("score")} || ',' || substr(body, 2)`;
  return [
    `CREATE TABLE rollout_units (place ${place}, status TEXT NOT NULL, body TEXT NOT NULL)`,
    `INSERT INTO rollout_units (place, status, body)
      SELECT run_no * 4294967296 + idx, status, '{"result":' || body || ',"scores":[' || coalesce((
        SELECT string_agg(${score}, ',' ORDER BY no) FROM rollout_scores
          WHERE rollout_scores.run_no = rollout_results.run_no AND rollout_scores.idx = rollout_results.idx
      ), '') || ']}' FROM rollout_results`,
    "DROP TABLE rollout_scores",
    "DROP TABLE rollout_results",
  ];
}

// Rows have been written in fewer words since, which an earlier version does not understand; it does the other way round.
function smallRows(): readonly string[] {
  return [];
}
