import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Insert, SqlSession, SqlValue } from "../sql/sql-database.ts";
import { sqliteError } from "./sqlite-error.ts";

// More rows per statement are not faster.
const maxRowsPerStatement = 16;

interface Query {
  readonly statement: StatementSync;
  readonly names: readonly string[];
}

/** Statements on one connection, each prepared once. */
export class SqliteSession implements SqlSession {
  readonly #connection: DatabaseSync;
  readonly #location: string;
  readonly #statements = new Map<string, StatementSync>();
  readonly #queries = new Map<string, Query>();
  readonly #inserts = new Map<Insert, string[]>();

  constructor(connection: DatabaseSync, location: string) {
    this.#connection = connection;
    this.#location = location;
  }

  async rows<Row>(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#call(() => {
      const { statement, names } = this.#prepareQuery(sql);
      const rows = statement.all(...values) as unknown as SqlValue[][];
      return rows.map((row) => toObject(names, row) as Row);
    });
  }

  async run(sql: string, values: readonly SqlValue[] = []): Promise<number> {
    return this.#call(() => Number(this.#prepare(sql).run(...values).changes));
  }

  async insert(into: Insert, rows: readonly (readonly SqlValue[])[]): Promise<number> {
    return this.#call(() => {
      let written = 0;
      for (let at = 0; at < rows.length; at += maxRowsPerStatement) {
        const some = rows.slice(at, at + maxRowsPerStatement);
        const statement = this.#prepare(this.#insertOf(into, some.length));
        written += Number(statement.run(...some.flat()).changes);
      }
      return written;
    });
  }

  #insertOf(into: Insert, count: number): string {
    let known = this.#inserts.get(into);
    if (known === undefined) this.#inserts.set(into, (known = []));
    return (known[count] ??=
      `INSERT INTO ${into.table} (${columnsOf(into)}) VALUES ${parametersOf(into, count)} ${into.onConflict}`);
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.#connection.prepare(sql)));
    return statement;
  }

  #prepareQuery(sql: string): Query {
    const known = this.#queries.get(sql);
    if (known) return known;
    const statement = this.#connection.prepare(sql);
    statement.setReturnArrays(true);
    const query = { statement, names: statement.columns().map(({ name }) => name) };
    this.#queries.set(sql, query);
    return query;
  }

  #call<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw sqliteError(error, this.#location);
    }
  }
}

function columnsOf({ columns }: Insert): string {
  return Object.keys(columns).join(", ");
}

function parametersOf({ columns }: Insert, count: number): string {
  const row = `(${Object.keys(columns)
    .map(() => "?")
    .join(", ")})`;
  return Array(count).fill(row).join(", ");
}

// The objects that node:sqlite returns are in dictionary mode: reading them costs as much as the query itself.
function toObject(names: readonly string[], row: readonly SqlValue[]): Record<string, SqlValue> {
  const object: Record<string, SqlValue> = {};
  for (let at = 0; at < names.length; at++) object[names[at] as string] = row[at] as SqlValue;
  return object;
}
