import { join } from "node:path";
import { createDataset, openStore, runDataset, writeItems } from "../../src/public/datasets.ts";
import { startMeter } from "../trials/measure.ts";
import { takeOrder, type Outcome } from "./contender.ts";
import { countStored } from "./count-stored.ts";
import { configOf, makeItems } from "./trivial-run.ts";

export interface LongOutcome extends Outcome {
  readonly status: string;
  /** Of the process while items run: the highest of each window, in order. */
  readonly windowBytes: readonly number[];
}

const windows = 20;

// A stored dataset of any size, written as a stream, run without keeping results.
await takeOrder(async (order): Promise<Omit<LongOutcome, "items" | "peakBytes">> => {
  await using store = await openStore(join(order.directory, "store.db"));
  await createDataset({ store, name: "long" });
  await writeItems({ store, dataset: "long", put: makeItems(order.items) });
  const windowBytes = Array.from({ length: windows }, () => 0);
  let done = 0;
  const stop = startMeter();
  const { runId, status, succeededCount } = await runDataset({
    ...configOf(order),
    storage: store,
    datasetId: "long",
    retainResults: false,
    onItemComplete: () => {
      if (done++ % 500 !== 0) return;
      const window = Math.floor(((done - 1) * windows) / order.items);
      windowBytes[window] = Math.max(windowBytes[window] ?? 0, process.memoryUsage.rss());
    },
  });
  const { wallMs, cpuMs } = stop(order.items);
  if (succeededCount !== order.items) throw new Error(`${succeededCount} of ${order.items} items succeeded`);
  return { wallMs, cpuMs, status, windowBytes, ...(await countStored(store, runId)) };
});
