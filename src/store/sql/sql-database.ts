export type SqlValue = string | number | bigint | null;

/** Rows to insert into one table. */
export interface Insert {
  readonly table: string;
  readonly columns: Readonly<Record<string, "bigint" | "text" | "double precision">>;
  /** The number of leading columns that are the key. */
  readonly keyLength: number;
  /** The clause for a row whose key exists. */
  readonly onConflict: string;
}

/** Statements inside one transaction. Parameters are written `?` for every engine. */
export interface SqlSession {
  /** The caller knows the shape of the rows. */
  rows<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
  /** Returns the number of changed rows. */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;
  /** Returns the number of written rows. Of two rows with the same key the last one counts. */
  insert(into: Insert, rows: readonly (readonly SqlValue[])[]): Promise<number>;
}

/** The differences between the SQL engines. */
export interface SqlDialect {
  /** Milliseconds since the epoch, by a clock that all processes using the store share. */
  readonly now: string;
  /** Ends a `SELECT` whose rows stay locked until the end of the transaction. */
  readonly forUpdate: string;
  /** The type of a key that counts up by itself. */
  readonly serial: string;
  /** The type of a text that is sorted by its bytes. */
  readonly name: string;
  /** A subquery with one row for each integer of a JSON array, which is its parameter. */
  readonly integers: string;
  /** Returns a row if the store has tables. */
  readonly findSchema: string;
  /** Keeps other processes from creating the tables at the same time; empty if a transaction does. */
  readonly lockSchema: string;
}

/** An SQL engine, as every SQL store uses it. */
export interface SqlDatabase extends AsyncDisposable {
  readonly location: string;
  readonly dialect: SqlDialect;
  /** Everything that `work` reads is of one moment. */
  read<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  /** Commits all of `work` or nothing. `bulk`: it may change very many rows. */
  write<T>(work: (session: SqlSession) => Promise<T>, size?: "bulk"): Promise<T>;
}
