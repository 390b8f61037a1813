import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../base/clock.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Condition, Insert, SqlDatabase, SqlDialect, SqlSession, SqlValue } from "../sql/sql-database.ts";
import { Checkpointer } from "./checkpointer.ts";
import { isBusy, isRefused, sqliteError } from "./sqlite-error.ts";
import { mostRows, SqliteSession } from "./sqlite-session.ts";
import { Turns } from "./turns.ts";
import { WalSyncer } from "./wal-syncer.ts";

const dialect: SqlDialect = {
  now: "rollout_now()",
  forUpdate: "",
  serial: "INTEGER PRIMARY KEY AUTOINCREMENT",
  counter: "INTEGER PRIMARY KEY",
  place: "INTEGER PRIMARY KEY",
  name: "TEXT",
  quote: "json_quote",
  findSchema: "SELECT 1 FROM sqlite_master WHERE name = 'rollout_schema'",
  lockSchema: "",
};

// SQLite waits in our own thread; a longer wait is ours and lets everything else go on.
const waitInThreadMs = 20;
const longestWaitMs = 60_000;
const retryMs = 10;
const never = new AbortController().signal;
// Bringing the log home syncs two files, so that another thread does it; this one only when that could not for very long.
const checkpoints = "PRAGMA wal_autocheckpoint = 65536";
// Whoever asks again and again would let nothing else happen for longer than this.
const longestTurnMs = 2;

export interface SqliteOptions {
  readonly path: string;
  readonly location: string;
  readonly clock: Clock;
  readonly access: "write" | "read";
}

/** Opens the database in a file; the file is made when it is to be written and is not there. */
export async function openSqliteDatabase(options: SqliteOptions): Promise<SqlDatabase> {
  const { clock, location } = options;
  try {
    return await untilFree(clock, () => new SqliteDatabase(options));
  } catch (error) {
    throw sqliteError(error, location);
  }
}

/**
 * One connection writes, one transaction after the other; another one reads, so that nobody sees a transaction that is
 * not over although it lets the event loop turn.
 */
class SqliteDatabase implements SqlDatabase {
  readonly location: string;
  readonly dialect = dialect;
  readonly #clock: Clock;
  readonly #writer: DatabaseSync | null;
  readonly #reader: DatabaseSync;
  readonly #writing: SqliteSession | null;
  readonly #reading: SqlSession;
  readonly #writes = new Turns();
  readonly #reads = new Turns();
  readonly #checkpointer: Checkpointer;
  readonly #syncer: WalSyncer;
  #turnBegan = 0;
  #isClosed = false;

  constructor({ path, location, clock, access }: SqliteOptions) {
    this.location = location;
    this.#clock = clock;
    this.#checkpointer = new Checkpointer(path, this.#writes);
    this.#syncer = new WalSyncer(`${path}-wal`, clock, () => this.#checkpointer.look());
    // The writer comes first: it makes the file.
    this.#writer = access === "read" ? null : connect(path, clock, false);
    this.#reader = access === "read" ? connectToRead(path, clock) : connect(path, clock, false);
    this.#writing = this.#writer && new SqliteSession(this.#writer, location);
    this.#reading = new SqliteSession(this.#reader, location);
  }

  read<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.#reads.take(() => this.#transact(this.#reading, "BEGIN", work));
  }

  write<T>(work: (session: SqlSession) => Promise<T>, size?: "bulk"): Promise<T> {
    return this.#writes.take(async () => {
      if (!this.#writing) {
        throw new RolloutError("io_failed", `the store ${this.location} can only be read: it was opened so`);
      }
      this.#syncer.check();
      // A commit carries the log over to the database by itself, which after very many rows would hold the event loop.
      if (size === "bulk") await this.#writing.run("PRAGMA wal_autocheckpoint = 0");
      try {
        const result = await this.#transact(this.#writing, "BEGIN IMMEDIATE", work);
        this.#syncer.touch();
        return result;
      } finally {
        // Its log is large now, and the other thread has it from here.
        if (size === "bulk") await this.#syncer.flush().then(() => this.#writing?.run(checkpoints));
      }
    });
  }

  tryInsert(into: Insert, rows: readonly (readonly SqlValue[])[], condition: Condition): boolean {
    if (this.#writing === null || this.#isClosed || !this.#writes.isFree) return false;
    // Now and then the longer way, which lets others work.
    if (rows.length > mostRows || this.#isTurnOver) return false;
    this.#syncer.check();
    try {
      if (!this.#writing.insertIf(into, rows, condition)) return false;
    } catch {
      // A key that is taken, another process that writes, a full disk: one statement leaves nothing behind.
      return false;
    }
    this.#syncer.touch();
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#checkpointer.close();
    // What is under way comes to its end; what waits behind it is told.
    await Promise.all([this.#writes.take(async () => {}), this.#reads.take(async () => {})]);
    await this.#syncer.close();
    this.#reader.close();
    this.#writer?.close();
  }

  get #isTurnOver(): boolean {
    return this.#clock.monotonic() - this.#turnBegan >= longestTurnMs;
  }

  // SQLite works in our own thread.
  async #letOthersWork(): Promise<void> {
    if (!this.#isTurnOver) return;
    await setImmediate();
    this.#turnBegan = this.#clock.monotonic();
  }

  async #transact<T>(session: SqlSession, begin: string, work: (session: SqlSession) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new RolloutError("usage_invalid", `the store ${this.location} was closed`);
    await untilFree(this.#clock, () => session.run(begin));
    try {
      const result = await work(session);
      await session.run("COMMIT");
      await this.#letOthersWork();
      return result;
    } catch (error) {
      // A full disk has already rolled it back.
      await session.run("ROLLBACK").catch(() => {});
      throw error;
    }
  }
}

/** Opens a file to be read, also where its folder may not be written to. */
function connectToRead(path: string, clock: Clock): DatabaseSync {
  try {
    const connection = connect(path, clock, true);
    try {
      connection.exec("SELECT 1 FROM sqlite_master");
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  } catch (error) {
    if (!isRefused(error) || existsSync(`${path}-wal`)) throw error;
    // SQLite keeps an index of the log beside a file; without a log, and with nobody who may write one here, it needs none.
    const immutable = pathToFileURL(path);
    immutable.searchParams.set("immutable", "1");
    return connect(immutable, clock, true);
  }
}

function connect(path: string | URL, clock: Clock, readOnly: boolean): DatabaseSync {
  const connection = new DatabaseSync(path, { readOnly, timeout: waitInThreadMs, enableForeignKeyConstraints: true });
  try {
    connection.function("rollout_now", () => Math.trunc(clock.now()));
    if (!readOnly) connection.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${checkpoints}`);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function untilFree<T>(clock: Clock, work: () => T | Promise<T>): Promise<T> {
  const from = clock.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const cause = error instanceof Error && isBusy(error.cause) ? error.cause : error;
      if (!isBusy(cause) || clock.monotonic() - from > longestWaitMs) throw error;
      await clock.sleep(retryMs, never);
    }
  }
}
