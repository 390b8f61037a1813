import { join } from "node:path";
import { createDataset, openStore, runDataset, writeItems } from "../../src/public/datasets.ts";
import { startMeter } from "../trials/measure.ts";
import { takeOrder, type Order } from "./contender.ts";
import { countStored } from "./count-stored.ts";
import { configOf, makeItems } from "./trivial-run.ts";

// They take about as long as those of the others.
const warmUpItems = 10_000;

await takeOrder(async (order) => {
  if (order.store === "none") return runGiven(order);
  await using store = await openStore(order.store === "memory" ? "memory:" : join(order.directory, "store.db"));
  for (const [name, items] of [
    ["warm-up", warmUpItems],
    ["bench", order.items],
  ] as const) {
    await createDataset({ store, name });
    await writeItems({ store, dataset: name, put: makeItems(items) });
  }
  const config = { ...configOf(order), storage: store };
  await runDataset({ ...config, datasetId: "warm-up" });
  const stop = startMeter();
  const { runId, status } = await runDataset({ ...config, datasetId: "bench" });
  const cost = stop(order.items);
  if (status !== "completed") throw new Error(`the run ended as ${status}`);
  return { wallMs: cost.wallMs, cpuMs: cost.cpuMs, ...(await countStored(store, runId)) };
});

async function runGiven(order: Order) {
  const config = configOf(order);
  const data = [...makeItems(order.items)];
  await runDataset({ ...config, data: [...makeItems(warmUpItems)] });
  const stop = startMeter();
  const { results } = await runDataset({ ...config, data });
  const cost = stop(order.items);
  const scores = results.reduce((sum, result) => sum + result.scores.length, 0);
  return { wallMs: cost.wallMs, cpuMs: cost.cpuMs, results: results.length, scores };
}
