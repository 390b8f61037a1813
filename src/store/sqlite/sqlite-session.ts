import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Condition, Insert, SqlSession, SqlValue } from "../sql/sql-database.ts";
import { sqliteError } from "./sqlite-error.ts";

// So many rows go with one statement: beyond that there is nothing to gain.
export const mostRows = 16;

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
  readonly #conditional = new Map<string, StatementSync>();
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

  /** Inserts rows in a transaction of their own if the condition has an answer, false otherwise; throws what SQLite throws. */
  insertIf(into: Insert, rows: readonly (readonly SqlValue[])[], condition: Condition): boolean {
    const key = `${into.table} ${rows.length} ${condition.sql}`;
    let statement = this.#conditional.get(key);
    if (statement === undefined) {
      const sql = `INSERT INTO ${into.table} (${columnsOf(into)}) SELECT * FROM (VALUES ${placesOf(into, rows.length)})
        WHERE EXISTS (${condition.sql})`;
      this.#conditional.set(key, (statement = this.#connection.prepare(sql)));
    }
    return statement.run(...rows.flat(), ...condition.values).changes !== 0;
  }

  #insertOf(into: Insert, count: number): string {
    let known = this.#inserts.get(into);
    if (known === undefined) this.#inserts.set(into, (known = []));
    return (known[count] ??=
      `INSERT INTO ${into.table} (${columnsOf(into)}) VALUES ${placesOf(into, count)} ${into.onConflict}`);
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

function columnsOf({ columns }: Insert): string {
  return Object.keys(columns).join(", ");
}

function placesOf({ columns }: Insert, count: number): string {
  const row = `(${Object.keys(columns)
    .map(() => "?")
    .join(", ")})`;
  return Array(count).fill(row).join(", ");
}

// The objects that SQLite's own binding makes are tables of hashes, which cost as much to read as the query itself.
function toObject(names: readonly string[], row: readonly SqlValue[]): Record<string, SqlValue> {
  const object: Record<string, SqlValue> = {};
  for (let at = 0; at < names.length; at++) object[names[at] as string] = row[at] as SqlValue;
  return object;
}
