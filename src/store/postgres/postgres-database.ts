import { Pool, types } from "pg";
import type { PoolClient } from "pg";
import type { SqlDatabase, SqlDialect, SqlSession } from "../sql/sql-database.ts";
import { postgresError } from "./postgres-error.ts";
import { PostgresSession } from "./postgres-session.ts";

const dialect: SqlDialect = {
  now: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
  forUpdate: " FOR UPDATE",
  serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  name: 'TEXT COLLATE "C"',
  integers: "SELECT CAST(value AS BIGINT) FROM json_array_elements_text(CAST(? AS JSON)) AS value",
  // Not `to_regclass`, which may miss tables that another process created a moment ago.
  findSchema:
    "SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = 'rollout_schema' AND schemaname = ANY (current_schemas(false))",
  lockSchema: "SELECT pg_advisory_xact_lock(727655868)",
};

const connectTimeoutMs = 15_000;
const maxConnections = 8;

/** Opens a pool of connections to a database. */
export async function openPostgresDatabase(url: string, location: string): Promise<SqlDatabase> {
  const pool = new Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: "rollout",
    types: {
      getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format)),
    },
  });
  // The pool replaces an idle connection that breaks.
  pool.on("error", () => {});
  // A connection that breaks in use fails the current query, or the next one.
  pool.on("connect", (client) => client.on("error", () => {}));
  let isClosed = false;

  const transact = async <T>(begin: string, work: (session: SqlSession) => Promise<T>): Promise<T> => {
    const client = await connect(pool, location);
    const session = new PostgresSession(client, location);
    let isBroken = false;
    try {
      await session.run(begin);
      const result = await work(session);
      await session.run("COMMIT");
      return result;
    } catch (error) {
      await client.query("ROLLBACK").catch(() => (isBroken = true));
      throw error;
    } finally {
      client.release(isBroken);
    }
  };

  return {
    location,
    dialect,
    read: (work) => transact("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work),
    write: (work, size) => transact("BEGIN", size === "bulk" ? withFreshPlans(work) : work),
    async [Symbol.asyncDispose]() {
      if (isClosed) return;
      isClosed = true;
      await pool.end().catch(() => {});
    },
  };
}

// Plans each statement for the tables as they are then: a plan made for empty tables is slow once they have grown.
function withFreshPlans<T>(work: (session: SqlSession) => Promise<T>): (session: SqlSession) => Promise<T> {
  return async (session) => {
    await session.run("SET LOCAL plan_cache_mode = force_custom_plan");
    return work(session);
  };
}

async function connect(pool: Pool, location: string): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw postgresError(error, location, "connect");
  }
}
