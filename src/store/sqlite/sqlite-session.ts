import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Insert, SqlSession, SqlValue } from "../sql/sql-database.ts";
import { sqliteError } from "./sqlite-error.ts";

// So many rows go with one statement: beyond that there is nothing to gain.
const mostRows = 16;

interface Question {
  readonly statement: StatementSync;
  readonly names: readonly string[];
}

/** Statements on one connection, each prepared once. */
export class SqliteSession implements SqlSession {
  readonly #connection: DatabaseSync;
  readonly #location: string;
  readonly #statements = new Map<string, StatementSync>();
  readonly #questions = new Map<string, Question>();
  readonly #inserts = new Map<Insert, string[]>();

  constructor(connection: DatabaseSync, location: string) {
    this.#connection = connection;
    this.#location = location;
  }

  async rows<Row>(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#call(() => {
      const { statement, names } = this.#ask(sql);
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
      for (let at = 0; at < rows.length; at += mostRows) {
        const some = rows.slice(at, at + mostRows);
        const statement = this.#prepare(this.#insertOf(into, some.length));
        written += Number(statement.run(...some.flat()).changes);
      }
      return written;
    });
  }

  #insertOf(into: Insert, count: number): string {
    let known = this.#inserts.get(into);
    if (known === undefined) this.#inserts.set(into, (known = []));
    const names = Object.keys(into.columns);
    const row = `(${names.map(() => "?").join(", ")})`;
    return (known[count] ??=
      `INSERT INTO ${into.table} (${names.join(", ")}) VALUES ${Array(count).fill(row).join(", ")} ${into.onConflict}`);
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.#connection.prepare(sql)));
    return statement;
  }

  #ask(sql: string): Question {
    const known = this.#questions.get(sql);
    if (known) return known;
    const statement = this.#connection.prepare(sql);
    statement.setReturnArrays(true);
    const question = { statement, names: statement.columns().map(({ name }) => name) };
    this.#questions.set(sql, question);
    return question;
  }

  #call<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw sqliteError(error, this.#location);
    }
  }
}

// The objects that SQLite's own binding makes are tables of hashes, which cost as much to read as the query itself.
function toObject(names: readonly string[], row: readonly SqlValue[]): Record<string, SqlValue> {
  const object: Record<string, SqlValue> = {};
  for (let at = 0; at < names.length; at++) object[names[at] as string] = row[at] as SqlValue;
  return object;
}
