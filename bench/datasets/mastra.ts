import { join } from "node:path";
import { findPeers } from "../../tests/peers/find-peers.ts";
import { startMeter } from "../trials/measure.ts";
import { takeOrder, type Order } from "./contender.ts";

interface ListPage {
  readonly pagination: { readonly hasMore: boolean };
}

interface Dataset {
  addItems(items: { readonly items: readonly unknown[] }): Promise<unknown>;
  startExperiment(config: object): Promise<{ readonly experimentId: string; readonly status: string }>;
  listExperimentResults(request: object): Promise<ListPage & { readonly results: readonly unknown[] }>;
}

interface ScoresStore {
  listScoresByRunId(request: object): Promise<ListPage & { readonly scores: readonly unknown[] }>;
}

interface Storage {
  getStore(name: "scores"): Promise<ScoresStore>;
}

type Task = { readonly run: { readonly output: unknown; readonly groundTruth: unknown } };

interface Mastra {
  readonly datasets: { create(traits: { readonly name: string }): Promise<Dataset> };
}

process.env["MASTRA_TELEMETRY_DISABLED"] = "1";
const warmUpItems = 200;
const perPage = 100;

await takeOrder(async (order) => {
  const peers = await findPeers(import.meta.dirname);
  if (peers === null) throw new Error("the peers are not installed");
  const core = (await peers.load("@mastra/core")) as { Mastra: new (options: object) => Mastra };
  const storage = await openStorage(order, peers.load);
  const { datasets } = new core.Mastra({ storage, logger: false });
  const scorers = await makeScorers(order.scorers, peers.load);
  const [warmUp, dataset] = [await datasets.create({ name: "warm-up" }), await datasets.create({ name: "bench" })];
  await warmUp.addItems({ items: makeItems(warmUpItems) });
  await dataset.addItems({ items: makeItems(order.items) });
  const task = ({ input }: { readonly input: { readonly i: number } }): number => input.i;
  const config = { task, scorers, maxConcurrency: order.inFlight };
  await warmUp.startExperiment({ name: "warm-up", ...config });
  const stop = startMeter();
  const { experimentId, status } = await dataset.startExperiment({ name: "bench", ...config });
  const { wallMs, cpuMs } = stop(order.items);
  const results = await count(async (page) => {
    const answer = await dataset.listExperimentResults({ experimentId, page, perPage });
    return { found: answer.results.length, ...answer.pagination };
  });
  const store = await storage.getStore("scores");
  const scores = await count(async (page) => {
    const answer = await store.listScoresByRunId({ runId: experimentId, pagination: { page, perPage } });
    return { found: answer.scores.length, ...answer.pagination };
  });
  return { wallMs, cpuMs, results, scores, status };
});

async function openStorage({ store, directory }: Order, load: (name: string) => Promise<unknown>): Promise<Storage> {
  if (store === "memory") {
    const { InMemoryStore } = (await load("@mastra/core/storage")) as { InMemoryStore: new () => Storage };
    return new InMemoryStore();
  }
  const { LibSQLStore } = (await load("@mastra/libsql")) as { LibSQLStore: new (options: object) => Storage };
  return new LibSQLStore({ id: "bench", url: `file:${join(directory, "store.db")}` });
}

async function makeScorers(count: number, load: (name: string) => Promise<unknown>): Promise<readonly unknown[]> {
  const { createScorer } = (await load("@mastra/core/evals")) as {
    createScorer: (traits: object) => { generateScore(score: (task: Task) => number): unknown };
  };
  return Array.from({ length: count }, (_, k) =>
    createScorer({ id: `s${k}`, name: `s${k}`, description: "Whether the output is what was expected." }).generateScore(
      ({ run }) => (run.output === run.groundTruth ? 1 : 0),
    ),
  );
}

function makeItems(count: number): readonly unknown[] {
  return Array.from({ length: count }, (_, i) => ({ input: { i }, groundTruth: i }));
}

async function count(read: (page: number) => Promise<{ found: number; hasMore: boolean }>): Promise<number> {
  let total = 0;
  for (let page = 0; ; page++) {
    const { found, hasMore } = await read(page);
    total += found;
    if (!hasMore) return total;
  }
}
