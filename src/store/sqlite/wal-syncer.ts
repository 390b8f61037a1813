import { close, fdatasync, openSync } from "node:fs";
import { promisify } from "node:util";
import type { Clock, Timer } from "../../base/clock.ts";

const sync = promisify(fdatasync);
const closeFile = promisify(close);

// With the sync itself, what was committed is on the disk within 50 ms of an unhurried one.
const delayMs = 25;

/** Brings commits to the disk soon after they were made, outside of the thread that made them. */
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

  /** Throws what kept an earlier commit from the disk: what is written after that would stand on nothing. */
  check(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Something was committed. */
  touch(): void {
    this.#isDirty = true;
    if (this.#running === undefined) this.#timer ??= this.#clock.startTimer(delayMs, () => void this.flush());
  }

  /** Resolves when all that was committed before is on the disk, or cannot be. */
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
      // The file stays the same for as long as a connection is open; it has no locks that closing could take away.
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
