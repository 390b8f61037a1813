import { RolloutError } from "../../base/rollout-error.ts";
import { createTables, schemaVersion } from "./schema.ts";
import type { SqlDatabase, SqlSession } from "./sql-database.ts";

/** Creates the tables of a store that has none. Several processes may do it at once. Rejects for another schema version. */
export async function createSchema(database: SqlDatabase): Promise<void> {
  const { dialect } = database;
  // Without a lock first: most stores have their tables.
  if (checkVersion(database, await database.read((session) => versionOf(database, session)))) return;
  await database.write(async (session) => {
    if (dialect.lockSchema !== "") await session.rows(dialect.lockSchema);
    if (checkVersion(database, await versionOf(database, session))) return;
    await session.run("CREATE TABLE rollout_schema (version BIGINT NOT NULL)");
    for (const statement of createTables(dialect)) await session.run(statement);
    await session.run("INSERT INTO rollout_schema (version) VALUES (?)", [schemaVersion]);
  });
}

/** Rejects if a store that is only read has no tables. Tables of another schema version are read as far as they fit. */
export async function checkSchema(database: SqlDatabase): Promise<void> {
  if ((await database.read((session) => versionOf(database, session))) !== null) return;
  throw new RolloutError("not_found", `the store ${database.location} contains no datasets and no runs`, {
    hint: "a command that writes to it creates its tables",
  });
}

async function versionOf({ dialect }: SqlDatabase, session: SqlSession): Promise<number | null> {
  if ((await session.rows(dialect.findSchema)).length === 0) return null;
  const [row] = await session.rows<{ version: number }>("SELECT version FROM rollout_schema");
  return row?.version ?? null;
}

/** Returns false if there are no tables. */
function checkVersion({ location }: SqlDatabase, version: number | null): boolean {
  if (version === null || version === schemaVersion) return version !== null;
  throw new RolloutError(
    "unsupported",
    `the store ${location} has schema version ${version}; this rollout writes version ${schemaVersion}`,
    { hint: "use the rollout that created the store, name another store with --store, or delete this one" },
  );
}
