import { once } from "node:events";
import { statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Turns } from "./turns.ts";

// Small commits write the same pages again and again: a longer log has far fewer pages to carry over for each commit.
const worthAThreadBytes = 32 << 20;

// As text: a worker's file would have to be found in the bundle. Whoever else reads the log keeps it from being cut off,
// and is not waited for: the next round does it.
const code = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const database = new DatabaseSync(workerData, { timeout: 100 });
parentPort.on("message", (mode) => {
  if (mode === "end") return database.close(), parentPort.close();
  database.exec("PRAGMA synchronous = NORMAL; PRAGMA wal_checkpoint(" + mode + ")");
  parentPort.postMessage("done");
});
`;

/** Carries a write-ahead log that has grown over to its database in a thread of its own: the syncs it takes hold nobody. */
export class Checkpointer {
  readonly #path: string;
  readonly #writes: Turns;
  #worthAtBytes = worthAThreadBytes;
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(path: string, writes: Turns) {
    this.#path = path;
    this.#writes = writes;
  }

  /** To be called now and then; begins its work when there is enough of it. */
  look(): void {
    if (this.#isClosed || this.#running !== null || this.#logBytes() < this.#worthAtBytes) return;
    this.#running = this.#work().finally(() => {
      this.#running = null;
      this.#worthAtBytes = this.#logBytes() + worthAThreadBytes;
    });
  }

  /** Lets what is under way come to its end, and begins nothing more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  // Most of it while others write, the little that they wrote meanwhile while nobody does: only then the log begins anew.
  async #work(): Promise<void> {
    const thread = new Worker(code, { eval: true, workerData: this.#path });
    const over = once(thread, "exit");
    const checkpoint = async (mode: "PASSIVE" | "TRUNCATE"): Promise<void> => {
      thread.postMessage(mode, []);
      await Promise.race([once(thread, "message"), over]);
    };
    try {
      await checkpoint("PASSIVE");
      await this.#writes.take(() => checkpoint("TRUNCATE"));
      thread.postMessage("end", []);
      await over;
    } catch {
      // What it cannot do now, it does when the log has grown further.
      await thread.terminate();
    }
  }

  #logBytes(): number {
    return statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }
}
