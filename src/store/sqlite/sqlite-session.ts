import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Insert, SqlSession, SqlValue } from "../sql/sql-database.ts";
import { sqliteError } from "./sqlite-error.ts";

/** Statements on one connection, each prepared once. */
export class SqliteSession implements SqlSession {
  readonly #connection: DatabaseSync;
  readonly #location: string;
  readonly #statements = new Map<string, StatementSync>();
  readonly #inserts = new Map<Insert, string>();

  constructor(connection: DatabaseSync, location: string) {
    this.#connection = connection;
    this.#location = location;
  }

  async rows<Row>(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#call(() => this.#prepare(sql).all(...values) as Row[]);
  }

  async run(sql: string, values: readonly SqlValue[] = []): Promise<number> {
    return this.#call(() => Number(this.#prepare(sql).run(...values).changes));
  }

  async insert(into: Insert, rows: readonly (readonly SqlValue[])[]): Promise<number> {
    return this.#call(() => {
      const statement = this.#prepare(this.#insertOf(into));
      let written = 0;
      for (const row of rows) written += Number(statement.run(...row).changes);
      return written;
    });
  }

  #insertOf(into: Insert): string {
    const known = this.#inserts.get(into);
    if (known !== undefined) return known;
    const names = Object.keys(into.columns);
    const places = names.map(() => "?").join(", ");
    const sql = `INSERT INTO ${into.table} (${names.join(", ")}) VALUES (${places}) ${into.onConflict}`;
    this.#inserts.set(into, sql);
    return sql;
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.#connection.prepare(sql)));
    return statement;
  }

  #call<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw sqliteError(error, this.#location);
    }
  }
}
