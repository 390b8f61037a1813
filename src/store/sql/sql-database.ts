export type SqlValue = string | number | bigint | null;

/** Many rows that go into one table; a row whose key is there already does what `onConflict` says. */
export interface Insert {
  readonly table: string;
  readonly columns: Readonly<Record<string, "bigint" | "text" | "double precision">>;
  /** So many of the first columns are the key. */
  readonly keyLength: number;
  readonly onConflict: string;
}

/** A question that has an answer, or none. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Statements inside one transaction. Places of values are written `?`, whatever the engine calls them. */
export interface SqlSession {
  /** The caller knows the shape of the rows it asks for. */
  rows<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
  /** How many rows it changed. */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;
  /** How many rows it wrote. Of two rows with one key the last one counts. */
  insert(into: Insert, rows: readonly (readonly SqlValue[])[]): Promise<number>;
}

/** What the engines spell differently. */
export interface SqlDialect {
  /** Milliseconds since the epoch, by the clock that all who use the store share. */
  readonly now: string;
  /** Ends a `SELECT` whose rows nobody else may change before the transaction is over. */
  readonly forUpdate: string;
  /** The type of a key that counts up by itself. */
  readonly serial: string;
  /** The same where a number may come back once the rows with the highest ones are gone. */
  readonly counter: string;
  /** The type of a key that is a whole number of up to 63 bits. */
  readonly place: string;
  /** The type of a text that is sorted by its bytes. */
  readonly name: string;
  /** The function that gives the JSON of a text or a number. */
  readonly quote: string;
  /** Has a row when the store was set up before. */
  readonly findSchema: string;
  /** Lets no other process set up the store meanwhile; empty when a transaction does. */
  readonly lockSchema: string;
}

/** The seam between what every SQL store does and the engine that does it. */
export interface SqlDatabase extends AsyncDisposable {
  readonly location: string;
  readonly dialect: SqlDialect;
  /** All that `work` reads is of one moment. */
  read<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  /** All that `work` does is done, or nothing; it is done when this resolves. `bulk` is for work that may touch very many rows. */
  write<T>(work: (session: SqlSession) => Promise<T>, size?: "bulk"): Promise<T>;
  /**
   * A transaction of one statement, for an engine in our own thread: when it returns, the rows are in because the condition
   * has an answer, or false says that nothing was done, for whatever reason, and that `write` can tell which.
   */
  tryInsert?(into: Insert, rows: readonly (readonly SqlValue[])[], condition: Condition): boolean;
}
