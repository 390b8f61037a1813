import type { ClientBase } from "pg";
import type { Insert, SqlSession, SqlValue } from "../sql/sql-database.ts";
import { postgresError } from "./postgres-error.ts";

const preparedNames = new Map<string, { readonly name: string; readonly text: string }>();

/** Statements on one connection, each prepared there once. */
export class PostgresSession implements SqlSession {
  readonly #client: ClientBase;
  readonly #location: string;

  constructor(client: ClientBase, location: string) {
    this.#client = client;
    this.#location = location;
  }

  async rows<Row>(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return (await this.#query(sql, values)).rows as Row[];
  }

  async run(sql: string, values: readonly SqlValue[] = []): Promise<number> {
    return (await this.#query(sql, values)).rowCount ?? 0;
  }

  async insert(into: Insert, rows: readonly (readonly SqlValue[])[]): Promise<number> {
    const names = Object.keys(into.columns);
    const lasts = lastOfEach(rows, into.keyLength);
    const columns = names.map((_, at) => lasts.map((row) => row[at] ?? null));
    return (await this.#query(insertOf(into, names), columns)).rowCount ?? 0;
  }

  async #query(sql: string, values: readonly unknown[]) {
    try {
      return await this.#client.query({ ...prepared(sql), values: values.map(withoutNul) });
    } catch (error) {
      throw postgresError(error, this.#location, "query");
    }
  }
}

// PostgreSQL texts cannot contain NUL. JSON escapes it, so only names and keys are affected.
function withoutNul(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNul);
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;
}

// A statement cannot write the same row twice.
function lastOfEach(rows: readonly (readonly SqlValue[])[], keyLength: number): readonly (readonly SqlValue[])[] {
  const byKey = new Map(rows.map((row) => [row.slice(0, keyLength).join("\0"), row]));
  return byKey.size === rows.length ? rows : [...byKey.values()];
}

function insertOf({ table, columns, onConflict }: Insert, names: readonly string[]): string {
  const arrays = Object.values(columns).map((type) => `?::${type}[]`);
  return `INSERT INTO ${table} (${names.join(", ")}) SELECT * FROM unnest(${arrays.join(", ")}) ${onConflict}`;
}

function prepared(sql: string): { readonly name: string; readonly text: string } {
  let known = preparedNames.get(sql);
  if (!known) {
    let count = 0;
    known = { name: `rollout_${preparedNames.size}`, text: sql.replaceAll("?", () => `$${++count}`) };
    preparedNames.set(sql, known);
  }
  return known;
}
