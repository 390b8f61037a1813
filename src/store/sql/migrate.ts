import { RolloutError } from "../../base/rollout-error.ts";
import { migrations } from "./migrations.ts";
import type { SqlDatabase, SqlSession } from "./sql-database.ts";

/** Brings the tables of a store to this version's; safe when several processes do it at once. Rejects for a newer store. */
export async function migrate(database: SqlDatabase): Promise<void> {
  const { dialect } = database;
  // Without a lock first: almost always there is nothing to do.
  if ((await database.read((session) => versionOf(database, session))) === migrations.length) return;
  await database.write(async (session) => {
    if (dialect.lockSchema !== "") await session.rows(dialect.lockSchema);
    const version = await versionOf(database, session);
    if (version > migrations.length) throw newerStore(database, version);
    if (version === 0) {
      await session.run("CREATE TABLE IF NOT EXISTS rollout_schema (version BIGINT NOT NULL)");
      await session.run("INSERT INTO rollout_schema (version) VALUES (?)", [0]);
    }
    for (const step of migrations.slice(version)) {
      for (const statement of step(dialect)) await session.run(statement);
    }
    await session.run("UPDATE rollout_schema SET version = ?", [migrations.length]);
  });
}

/** Rejects when a store that is only read has no tables. Tables of another version are read as far as that goes. */
export async function checkSchema(database: SqlDatabase): Promise<void> {
  const version = await database.read((session) => versionOf(database, session));
  if (version > 0) return;
  throw new RolloutError("not_found", `the store ${database.location} holds no datasets and no runs`, {
    hint: "a command that writes to it sets it up",
  });
}

async function versionOf({ dialect }: SqlDatabase, session: SqlSession): Promise<number> {
  if ((await session.rows(dialect.findSchema)).length === 0) return 0;
  const [row] = await session.rows<{ version: number }>("SELECT version FROM rollout_schema");
  return row?.version ?? 0;
}

function newerStore({ location }: SqlDatabase, version: number): RolloutError {
  return new RolloutError(
    "unsupported",
    `the store ${location} was written by a newer rollout (tables ${version}; this one knows ${migrations.length})`,
    { hint: "update rollout, or open another store" },
  );
}
