import { statSync } from "node:fs";
import { Worker } from "node:worker_threads";

// Below this the next commit carries it over without anybody noticing.
const worthAThreadBytes = 16 << 20;

// As text: a worker's file would have to be found in the bundle.
const code = `
const { DatabaseSync } = require("node:sqlite");
const database = new DatabaseSync(require("node:worker_threads").workerData, { timeout: 1000 });
database.exec("PRAGMA wal_checkpoint(PASSIVE)");
database.close();
`;

/** Carries a write-ahead log that has grown large over to its database, in a thread of its own; never rejects. */
export async function checkpointLargeLog(path: string): Promise<void> {
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) < worthAThreadBytes) return;
  await new Promise<void>((done) => {
    // What it cannot do, a later commit does.
    const worker = new Worker(code, { eval: true, workerData: path });
    worker.on("error", () => done());
    worker.on("exit", () => done());
  });
}
