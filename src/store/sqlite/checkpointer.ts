import { once } from "node:events";
import { statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Turns } from "./turns.ts";

// Small commits write the same pages again and again: the longer the log, the fewer pages per commit have to be copied.
const minLogBytes = 32 << 20;

// As text: the file of a worker would have to be found inside the bundle. The timeout is short, because a reader that keeps
// the log from being cut is not waited for.
const code = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const database = new DatabaseSync(workerData, { timeout: 100 });
parentPort.on("message", (mode) => {
  if (mode === "end") return database.close(), parentPort.close();
  database.exec("PRAGMA synchronous = NORMAL");
  parentPort.postMessage(database.prepare("PRAGMA wal_checkpoint(" + mode + ")").get().busy === 0);
});
`;

/** Copies a large write-ahead log to its database and cuts it, in another thread, so that the syncs block no one. */
export class Checkpointer {
  readonly #path: string;
  readonly #log: string;
  readonly #writes: Turns;
  #startAtBytes = minLogBytes;
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(path: string, writes: Turns) {
    this.#path = path;
    this.#log = `${path}-wal`;
    this.#writes = writes;
  }

  /** Starts a checkpoint if the log is large enough. Call it after each sync. */
  check(): void {
    if (this.#isClosed || this.#running !== null || logBytes(this.#log) < this.#startAtBytes) return;
    this.#running = this.#work().then((isCut) => {
      this.#running = null;
      this.#startAtBytes = minLogBytes + (isCut ? 0 : logBytes(this.#log));
    });
  }

  /** Waits for a running checkpoint, and starts no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  // Most of the log is copied while others write, then most of what they wrote meanwhile. The rest is copied while no one
  // writes: only then the log can be cut.
  async #work(): Promise<boolean> {
    const thread = new Worker(code, { eval: true, workerData: this.#path });
    const exit = once(thread, "exit");
    const checkpoint = async (mode: "PASSIVE" | "TRUNCATE"): Promise<boolean> => {
      thread.postMessage(mode, []);
      const [isDone] = (await Promise.race([once(thread, "message"), exit])) as [unknown];
      return isDone === true;
    };
    try {
      for (let round = 0; round < 2; round++) await checkpoint("PASSIVE");
      const isCut = await this.#writes.take(() => checkpoint("TRUNCATE"));
      thread.postMessage("end", []);
      await exit;
      return isCut;
    } catch {
      // Tried again when the log has grown further.
      await thread.terminate();
      return false;
    }
  }
}

function logBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
