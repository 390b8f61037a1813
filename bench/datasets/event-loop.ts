import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate, setTimeout } from "node:timers/promises";
import { createDataset, openStore, runDataset, writeItems } from "../../src/public/datasets.ts";
import { takeOrder } from "./contender.ts";
import { configOf, makeItems } from "./trivial-run.ts";

/** How long the loop was held, in milliseconds, seen by a timer that wants to fire every one. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface LoopDelays {
  readonly idle: LoopDelay;
  /** A loop of nothing but sums that turns every 5 ms: what other processes of a busy machine take from it. */
  readonly busy: LoopDelay;
  /** While items run and nothing is stored. */
  readonly running: LoopDelay;
  /** While items come from a SQLite file and their results go to it. */
  readonly storing: LoopDelay;
}

const idleMs = 3000;

await takeOrder(async (order): Promise<LoopDelays> => {
  await using store = await openStore(join(order.directory, "store.db"));
  await createDataset({ store, name: "bench" });
  await writeItems({ store, dataset: "bench", put: makeItems(order.items) });
  const config = { ...configOf(order), retainResults: false };
  const data = [...makeItems(order.items)];
  await runDataset({ ...config, storage: store, datasetId: "bench", limit: 1000 });
  return {
    idle: await watch(() => setTimeout(idleMs)),
    busy: await watch(keepBusy),
    running: await watch(() => runDataset({ ...config, data })),
    storing: await watch(() => runDataset({ ...config, storage: store, datasetId: "bench" })),
  };
});

async function keepBusy(): Promise<void> {
  const end = performance.now() + idleMs;
  while (performance.now() < end) {
    const turnEnd = performance.now() + 5;
    while (performance.now() < turnEnd);
    await setImmediate();
  }
}

async function watch(work: () => Promise<unknown>): Promise<LoopDelay> {
  global.gc?.();
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  await work();
  delays.disable();
  return { p50: delays.percentile(50) / 1e6, p99: delays.percentile(99) / 1e6, max: delays.max / 1e6 };
}
