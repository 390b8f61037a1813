import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { findPeers, type Peers } from "../../tests/peers/find-peers.ts";
import { startMeter } from "../trials/measure.ts";
import { takeOrder, type Order } from "./contender.ts";

interface Storage {
  readonly results: { getMany(filter: object): Promise<readonly { readonly id: number }[]> };
  readonly scores: { getMany(filter: object): Promise<readonly unknown[]> };
}

type RunEvalite = (options: object) => Promise<unknown>;

const evalFile = `
import { evalite } from "evalite";
const { BENCH_ITEMS: items, BENCH_SCORERS: scorers } = process.env;
evalite("bench", {
  data: () => Array.from({ length: Number(items) }, (_, i) => ({ input: { i }, expected: i })),
  task: async (input) => input.i,
  scorers: Array.from({ length: Number(scorers) }, (_, k) => ({
    name: "s" + k,
    scorer: ({ output, expected }) => (output === expected ? 1 : 0),
  })),
});
`;

// Its runner starts a test runner and its processes each time, which the longer run is measured without.
const warmUpItems = 10;

await takeOrder(async (order) => {
  const peers = await findPeers(import.meta.dirname);
  if (peers === null) throw new Error("the peers are not installed");
  symlinkSync(join(peers.home, "node_modules"), join(order.directory, "node_modules"));
  writeFileSync(join(order.directory, "bench.eval.ts"), evalFile);
  const config = `export default { test: { maxConcurrency: ${order.inFlight} } };\n`;
  writeFileSync(join(order.directory, "vite.config.mjs"), config);
  const { runEvalite } = (await peers.load("evalite/runner")) as { runEvalite: RunEvalite };
  await run(runEvalite, peers, order, { items: warmUpItems, file: "first.db" });
  const short = await run(runEvalite, peers, order, { items: warmUpItems, file: "short.db" });
  const long = await run(runEvalite, peers, order, { items: order.items + warmUpItems, file: "long.db" });
  return {
    wallMs: long.wallMs - short.wallMs,
    cpuMs: long.cpuMs - short.cpuMs,
    results: long.results - warmUpItems,
    scores: long.scores - warmUpItems * order.scorers,
  };
});

async function run(
  runEvalite: RunEvalite,
  peers: Peers,
  order: Order,
  { items, file }: { items: number; file: string },
) {
  Object.assign(process.env, { BENCH_ITEMS: String(items), BENCH_SCORERS: String(order.scorers) });
  const storage = await openStorage(order, peers, file);
  const quiet = new Writable({ write: (_chunk, _encoding, done) => done() });
  const stop = startMeter();
  await runEvalite({
    cwd: order.directory,
    mode: "run-once-and-exit",
    storage,
    hideTable: true,
    disableServer: true,
    testOutputWritable: quiet,
  });
  const { wallMs, cpuMs } = stop(items);
  const results = await storage.results.getMany({});
  const scores = results.length === 0 ? [] : await storage.scores.getMany({ resultIds: results.map(({ id }) => id) });
  return { wallMs, cpuMs, results: results.length, scores: scores.length };
}

async function openStorage({ store, directory }: Order, peers: Peers, file: string): Promise<Storage> {
  if (store === "memory") {
    const memory = (await peers.load("evalite/in-memory-storage")) as { createInMemoryStorage: () => Storage };
    return memory.createInMemoryStorage();
  }
  const sqlite = (await peers.load("evalite/sqlite-storage")) as {
    createSqliteStorage: (path: string) => Promise<Storage>;
  };
  return sqlite.createSqliteStorage(join(directory, file));
}
