import { close, fdatasync, openSync } from "node:fs";
import { promisify } from "node:util";
import type { Clock, Timer } from "../../base/clock.ts";

const sync = promisify(fdatasync);
const closeFile = promisify(close);

// Together with the sync itself, a commit is on disk within about 50 ms.
const delayMs = 25;

/** Syncs commits to disk soon after they were made, without blocking this thread. */
export class WalSyncer {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #onSynced: () => void;
  #file: number | undefined;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isDirty = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(path: string, clock: Clock, onSynced: () => void) {
    this.#path = path;
    this.#clock = clock;
    this.#onSynced = onSynced;
  }

  /** Throws the error of an earlier sync that failed: commits after it would not survive a power failure. */
  check(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Call it after each commit. */
  touch(): void {
    this.#isDirty = true;
    if (this.#running === undefined) this.#timer ??= this.#clock.startTimer(delayMs, () => void this.flush());
  }

  /** Resolves when all earlier commits are on disk, or the sync failed. */
  async flush(): Promise<void> {
    this.#timer?.clear();
    this.#timer = undefined;
    while (this.#isDirty) {
      this.#running ??= this.#syncOnce();
      await this.#running;
    }
  }

  async close(): Promise<void> {
    await this.flush();
    if (this.#file !== undefined) await closeFile(this.#file).catch(() => {});
    this.#file = undefined;
  }

  async #syncOnce(): Promise<void> {
    this.#isDirty = false;
    try {
      // The file stays the same while a connection is open. It has no locks that closing it could release.
      this.#file ??= openSync(this.#path, "r");
      await sync(this.#file);
      this.#onSynced();
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      this.#running = undefined;
    }
  }
}
