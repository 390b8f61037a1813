import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { openPrivatePostgres, postgresVariable, whyNoPostgres } from "../engines/private-postgres.ts";

/** A database of one test file. */
export interface TestPostgres extends AsyncDisposable {
  readonly url: string;
  readonly query: (sql: string) => Promise<readonly Record<string, unknown>[]>;
}

/** Returns why the tests have no PostgreSQL; null if they have one. */
export function whyNoTestPostgres(): string | null {
  return process.env[postgresVariable] ? null : whyNoPostgres();
}

/** Creates a database on the server named in the environment, or on one that is started for the test. */
export async function openTestPostgres(): Promise<TestPostgres> {
  const given = process.env[postgresVariable];
  const server = given ? null : await openPrivatePostgres();
  const base = given ?? server?.url ?? "";
  const name = `rollout_test_${randomUUID().slice(0, 8)}`;
  await query(base, `CREATE DATABASE ${name}`);
  const url = new URL(base);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    query: (sql) => query(url.href, sql),
    async [Symbol.asyncDispose]() {
      if (!server) await query(base, `DROP DATABASE ${name} WITH (FORCE)`);
      await server?.[Symbol.asyncDispose]();
    },
  };
}

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
