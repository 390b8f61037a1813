import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../base/clock.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { SqlDatabase, SqlDialect, SqlSession } from "../sql/sql-database.ts";
import { Checkpointer } from "./checkpointer.ts";
import { isBusy, isRefused, sqliteError } from "./sqlite-error.ts";
import { SqliteSession } from "./sqlite-session.ts";
import { Turns } from "./turns.ts";
import { WalSyncer } from "./wal-syncer.ts";

const dialect: SqlDialect = {
  now: "rollout_now()",
  forUpdate: "",
  serial: "INTEGER PRIMARY KEY AUTOINCREMENT",
  name: "TEXT",
  integers: "SELECT value FROM json_each(?)",
  findSchema: "SELECT 1 FROM sqlite_master WHERE name = 'rollout_schema'",
  lockSchema: "",
};

// SQLite waits in this thread. A longer wait is a timer, so that other work continues.
const busyTimeoutMs = 20;
const maxWaitMs = 60_000;
const retryDelayMs = 10;
const never = new AbortController().signal;
// A checkpoint syncs two files, so another thread does it. This one does it only if the other could not for a long time.
const autoCheckpoint = "PRAGMA wal_autocheckpoint = 65536";
// A caller that makes one call after the other yields to other work after this time.
const maxTurnMs = 2;

export interface SqliteOptions {
  readonly path: string;
  readonly location: string;
  readonly clock: Clock;
  readonly access: "write" | "read";
}

/** Opens the database in a file. Creates the file if access is `write` and it does not exist. */
export async function openSqliteDatabase(options: SqliteOptions): Promise<SqlDatabase> {
  const { clock, location } = options;
  try {
    return await retryWhileBusy(clock, () => new SqliteDatabase(options));
  } catch (error) {
    throw sqliteError(error, location);
  }
}

/**
 * One connection writes, one transaction after the other. Another one reads, so that readers never see a transaction that
 * has not been committed yet, although it yields to the event loop.
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
  #turnStartedAt = 0;
  #isClosed = false;

  constructor({ path, location, clock, access }: SqliteOptions) {
    this.location = location;
    this.#clock = clock;
    this.#checkpointer = new Checkpointer(path, this.#writes);
    this.#syncer = new WalSyncer(`${path}-wal`, clock, () => this.#checkpointer.check());
    // The writer comes first: it creates the file.
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
        throw new RolloutError("io_failed", `the store ${this.location} cannot be written: it was opened for reading`);
      }
      this.#syncer.check();
      // After very many rows, a checkpoint inside the commit would block the event loop.
      if (size === "bulk") await this.#writing.run("PRAGMA wal_autocheckpoint = 0");
      try {
        const result = await this.#transact(this.#writing, "BEGIN IMMEDIATE", work);
        this.#syncer.touch();
        return result;
      } finally {
        // The log is large now. From here on the other thread copies it to the database.
        if (size === "bulk") await this.#syncer.flush().then(() => this.#writing?.run(autoCheckpoint));
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#checkpointer.close();
    // Current work finishes. Work that waits behind it is rejected.
    await Promise.all([this.#writes.take(async () => {}), this.#reads.take(async () => {})]);
    await this.#syncer.close();
    this.#reader.close();
    this.#writer?.close();
  }

  // SQLite works in this thread.
  async #yieldToOthers(): Promise<void> {
    if (this.#clock.monotonic() - this.#turnStartedAt < maxTurnMs) return;
    await setImmediate();
    this.#turnStartedAt = this.#clock.monotonic();
  }

  async #transact<T>(session: SqlSession, begin: string, work: (session: SqlSession) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new RolloutError("usage_invalid", `the store ${this.location} is closed`);
    await retryWhileBusy(this.#clock, () => session.run(begin));
    try {
      const result = await work(session);
      await session.run("COMMIT");
      await this.#yieldToOthers();
      return result;
    } catch (error) {
      // A full disk has already rolled it back.
      await session.run("ROLLBACK").catch(() => {});
      throw error;
    }
  }
}

/** Opens a file for reading, also in a directory that is not writable. */
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
    // SQLite needs to write an index of the log beside the file. Without a log, in a read-only directory, there is no need for it.
    const immutable = pathToFileURL(path);
    immutable.searchParams.set("immutable", "1");
    return connect(immutable, clock, true);
  }
}

function connect(path: string | URL, clock: Clock, readOnly: boolean): DatabaseSync {
  const connection = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  try {
    connection.function("rollout_now", () => Math.trunc(clock.now()));
    if (!readOnly) connection.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${autoCheckpoint}`);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function retryWhileBusy<T>(clock: Clock, work: () => T | Promise<T>): Promise<T> {
  const from = clock.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const cause = error instanceof Error && isBusy(error.cause) ? error.cause : error;
      if (!isBusy(cause) || clock.monotonic() - from > maxWaitMs) throw error;
      await clock.sleep(retryDelayMs, never);
    }
  }
}
