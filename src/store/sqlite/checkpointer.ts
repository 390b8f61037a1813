import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { readLogBytes, reachesInLog } from "./log-reach.ts";
import type { Turns } from "./turns.ts";

// Small commits write the same pages again and again: a longer log has far fewer pages to carry over for each commit.
const worthAThreadBytes = 32 << 20;
// Written over from its beginning a log needs no new room, which syncs would wait for; one that is much longer is cut off.
const longestKeptBytes = 4 * worthAThreadBytes;

// As text: a worker's file would have to be found in the bundle. Whoever else reads the log keeps it from beginning anew,
// and is not waited for: the next round does it.
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

/** Carries a write-ahead log that has grown over to its database in a thread of its own: the syncs it takes hold nobody. */
export class Checkpointer {
  readonly #path: string;
  readonly #log: string;
  readonly #writes: Turns;
  #worthAtBytes = worthAThreadBytes;
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(path: string, writes: Turns) {
    this.#path = path;
    this.#log = `${path}-wal`;
    this.#writes = writes;
  }

  /** To be called now and then; begins its work when there is enough of it. */
  look(): void {
    if (this.#isClosed || this.#running !== null || !reachesInLog(this.#log, this.#worthAtBytes)) return;
    this.#running = this.#work().then((beginsAnew) => {
      this.#running = null;
      this.#worthAtBytes = worthAThreadBytes + (beginsAnew ? 0 : readLogBytes(this.#log));
    });
  }

  /** Lets what is under way come to its end, and begins nothing more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  // Most of it while others write, and most of what they wrote meanwhile; the little that is left while nobody does: only
  // then the log begins anew.
  async #work(): Promise<boolean> {
    const thread = new Worker(code, { eval: true, workerData: this.#path });
    const over = once(thread, "exit");
    const checkpoint = async (mode: "PASSIVE" | "RESTART" | "TRUNCATE"): Promise<boolean> => {
      thread.postMessage(mode, []);
      const [isDone] = (await Promise.race([once(thread, "message"), over])) as [unknown];
      return isDone === true;
    };
    try {
      for (let round = 0; round < 2; round++) await checkpoint("PASSIVE");
      const last = readLogBytes(this.#log) > longestKeptBytes ? "TRUNCATE" : "RESTART";
      const beginsAnew = await this.#writes.take(() => checkpoint(last));
      thread.postMessage("end", []);
      await over;
      return beginsAnew;
    } catch {
      // What it cannot do now, it does when the log has grown further.
      await thread.terminate();
      return false;
    }
  }
}
