import { afterEach, describe, expect, test } from "vitest";
import { systemClock, type Clock } from "../base/clock.ts";
import { readHost } from "../base/host.ts";
import { readOwner } from "../base/process-owner.ts";
import { RolloutError } from "../base/rollout-error.ts";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { sampleRun } from "../store/conformance/sample-run.ts";
import { openStore } from "../store/registry.ts";
import type { RunEvent, Unit } from "../store/run.ts";
import type { RunLease, RunStore } from "../store/run-store.ts";
import type { UnitQuery } from "../store/run-source.ts";
import type { Store } from "../store/store.ts";
import type { RunConfig } from "./run-config.ts";
import { runDataset } from "./run-dataset.ts";
import type { RunContext } from "./run-context.ts";
import type { RunSummary } from "./summary.ts";
import { never, numbers } from "./testing/test-ground.ts";

const host = readHost(process);
const context: RunContext = {
  clock: systemClock,
  owner: readOwner(host),
  origin: { description: null, tags: {}, git: null, rolloutVersion: "0.0.0" },
  random: () => 0,
};
const echo = async (input: unknown): Promise<unknown> => input;
const right = function right({ output, groundTruth }: { output: unknown; groundTruth?: unknown }): number {
  return output === groundTruth ? 1 : 0;
};

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store[Symbol.asyncDispose]();
});

async function newStore(clock: Clock = systemClock): Promise<Store> {
  const store = await openStore({ location: "memory:", host, clock, access: "write" });
  stores.push(store);
  return store;
}

async function storeNumbers(store: Store, count: number): Promise<string> {
  const { id } = await store.datasets.create({
    name: "numbers",
    description: null,
    metadata: {},
    inputSchema: null,
    expectedOutputSchema: null,
    scorerIds: null,
  });
  await using write = await store.datasets.openWrite({ datasetId: id, mode: "merge", note: null });
  await write.put(numbers(count));
  await write.commit();
  return id;
}

async function stored(store: Store, runId: string): Promise<unknown[]> {
  const { entries } = await store.runs.units(runId, { page: { after: null, limit: 10_000 } });
  return entries.map(({ index, status, output, scores }) => [
    index,
    status,
    output,
    ...scores.map(({ value }) => value),
  ]);
}

function run(config: RunConfig): Promise<RunSummary> {
  return runDataset(config, context);
}

describe("a run on a stored dataset", () => {
  test("pins a version and stores every result with its scores", async () => {
    const storage = await newStore();
    const datasetId = await storeNumbers(storage, 3);
    const summary = await run({ storage, datasetId: "numbers", target: echo, scorers: [right] });
    expect(await stored(storage, summary.runId)).toEqual([
      [0, "completed", 0, 1],
      [1, "completed", 1, 1],
      [2, "completed", 2, 1],
    ]);
    expect(await storage.runs.get(summary.runId)).toMatchObject({
      status: "completed",
      isResumable: false,
      owner: null,
      datasets: [{ name: "numbers", id: datasetId, version: "1" }],
      counts: { finished: 3, completed: 3 },
      plan: { total: 3 },
    });
  });

  test("keeps the order of the dataset and reads an old version as it was", async () => {
    const storage = await newStore();
    const datasetId = await storeNumbers(storage, 1200);
    await using write = await storage.datasets.openWrite({ datasetId, mode: "merge", note: null });
    await write.remove(["n0"]);
    await write.commit();
    const now = await run({ storage, datasetId, target: echo });
    const before = await run({ storage, datasetId, target: echo, version: 1 });
    expect([now.totalItems, before.totalItems]).toEqual([1199, 1200]);
    expect(before.results.map(({ input }) => input)).toEqual(numbers(1200).map(({ input }) => input));
  });

  test("an unknown or empty dataset, and an unknown version, are refused before a record exists", async () => {
    const storage = await newStore();
    const datasetId = await storeNumbers(storage, 1);
    await expect(run({ storage, datasetId: "nothing", target: echo })).rejects.toThrow('no dataset "nothing"');
    await expect(run({ storage, datasetId, version: 9, target: echo })).rejects.toThrow("no version 9");
    expect((await storage.runs.list({}, { after: null, limit: 9 })).entries).toEqual([]);
  });

  test("an abort leaves a cancelled run that can be resumed", async () => {
    const storage = await newStore();
    const stop = new AbortController();
    const target = (input: number): unknown => {
      if (input === 4) stop.abort();
      return input < 3 ? input : never;
    };
    const first = await run({
      storage,
      data: numbers(8),
      target,
      signal: stop.signal,
      maxConcurrency: 2,
      scorers: [right],
    });
    expect(first).toMatchObject({ succeededCount: 3, failedCount: 2, skippedCount: 3 });
    expect(await storage.runs.get(first.runId)).toMatchObject({ status: "cancelled", isResumable: true });

    const called: number[] = [];
    const kept: string[] = [];
    const second = await run({
      onEvent: (event) => {
        if (event.type === "unit_restored") kept.push(event.unit.key);
      },
      storage,
      data: numbers(8),
      runId: first.runId,
      scorers: [right],
      target: Object.defineProperty(
        (input: number) => {
          called.push(input);
          return input;
        },
        "name",
        { value: "target" },
      ),
    });
    expect(called.toSorted((a, b) => a - b)).toEqual([3, 4, 5, 6, 7]);
    expect(kept).toEqual(["n0", "n1", "n2"]);
    expect(second).toMatchObject({ status: "completed", succeededCount: 8, failedCount: 0, totalItems: 8 });
    expect(second.results.map(({ output }) => output)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(second.scorers[0]).toMatchObject({ scored: 8, mean: 1 });
    expect(await stored(storage, first.runId)).toHaveLength(8);
  });

  test("a finished run is refused, an unknown id begins one, and another target does not go on with it", async () => {
    const storage = await newStore();
    const config = { storage, data: numbers(2), target: echo };
    await run({ ...config, runId: "mine" });
    await expect(run({ ...config, runId: "mine" })).rejects.toThrow('run "mine" is finished');
    await run({ ...config, runId: "cut", signal: AbortSignal.abort() });
    const other = function other(): number {
      return 1;
    };
    await expect(run({ ...config, target: other, runId: "cut" })).rejects.toThrow('target was "echo", not "other"');
    await expect(run({ ...config, data: numbers(3), runId: "cut" })).rejects.toThrow("it has 2 items, not 3");
    const changed = numbers(2).map((item) => ({ ...item, input: item.input + 1 }));
    await expect(run({ ...config, data: changed, runId: "cut" })).rejects.toThrow(
      "the items given in code were others",
    );
    expect(await run({ ...config, runId: "cut" })).toMatchObject({ succeededCount: 2 });
  });

  test("scorers of a whole run read the store when results are not kept", async () => {
    const storage = await newStore();
    const sum = {
      id: "sum",
      runDataset: async ({ items }: { items: AsyncIterable<{ output: unknown }> }) => {
        let total = 0;
        for await (const { output } of items) total += Number(output);
        return { score: total };
      },
    };
    const summary = await run({ storage, data: numbers(10), target: echo, scorers: [sum], retainResults: false });
    expect(summary.datasetScores).toMatchObject([{ scorerId: "sum", score: 45 }]);
  });
});

describe("a store that fails", () => {
  async function failing(changes: Partial<RunLease>): Promise<Store> {
    const store = await newStore();
    const create: RunStore["create"] = async (created, owner) => {
      const lease = await store.runs.create(created, owner);
      return {
        run: lease.run,
        renew: (renewed) => lease.renew(renewed),
        write: (units) => lease.write(units),
        remove: (indexes) => lease.remove(indexes),
        end: (ended) => lease.end(ended),
        ...changes,
      };
    };
    const runs = Object.assign(Object.create(store.runs) as RunStore, {
      create,
      get: (id: string) => store.runs.get(id),
      units: (id: string, query: UnitQuery) => store.runs.units(id, query),
    });
    return { location: store.location, datasets: store.datasets, runs, [Symbol.asyncDispose]: async () => {} };
  }

  test("to keep results costs no result, and is counted", async () => {
    const storage = await failing({ write: () => Promise.reject(new RolloutError("io_failed", "disk full")) });
    const summary = await run({ storage, data: numbers(3), target: echo });
    expect(summary).toMatchObject({ status: "completed", succeededCount: 3, persistenceFailures: 3 });
    expect(summary.results.map(({ persistenceError }) => persistenceError)).toEqual([
      "disk full",
      "disk full",
      "disk full",
    ]);
    expect(await storage.runs.get(summary.runId)).toMatchObject({
      status: "completed",
      isResumable: true,
      details: { persistence_failures: 3 },
    });
  });

  test("on one result alone keeps the others of its group", async () => {
    const kept: number[] = [];
    const write = async (units: readonly Unit[]): Promise<void> => {
      if (units.some(({ index }) => index === 1)) throw new RolloutError("io_failed", "not this one");
      kept.push(...units.map(({ index }) => index));
    };
    const summary = await run({ storage: await failing({ write }), data: numbers(4), target: echo });
    expect(summary.persistenceFailures).toBe(1);
    expect(kept.toSorted((a, b) => a - b)).toEqual([0, 2, 3]);
  });

  test("for a moment is asked again", async () => {
    let calls = 0;
    const write = async (): Promise<void> => {
      if (++calls === 1) throw new RolloutError("io_failed", "busy", { transient: true });
    };
    const summary = await run({ storage: await failing({ write }), data: numbers(1), target: echo });
    expect(summary.persistenceFailures).toBe(0);
    expect(calls).toBe(2);
  });

  test("at the very end still returns the summary, with what went wrong", async () => {
    const storage = await failing({ end: () => Promise.reject(new Error("gone")) });
    const ends: RunEvent[] = [];
    const summary = await run({
      storage,
      data: numbers(2),
      target: echo,
      onEvent: (event) => event.type === "run_finished" && ends.push(event),
    });
    const error = "the end of the run could not be stored: gone";
    expect(summary).toMatchObject({ status: "failed", succeededCount: 2, error });
    expect(ends).toMatchObject([{ run: { status: "failed", isResumable: true, error, counts: { completed: 2 } } }]);
  });

  test("in the middle of its items ends the run with a summary", async () => {
    const store = await newStore();
    const datasetId = await storeNumbers(store, 300);
    const items: Store["datasets"]["items"] = (id, version, wish) =>
      wish.after === null ? store.datasets.items(id, version, wish) : Promise.reject(new Error("connection lost"));
    const storage = {
      location: store.location,
      runs: store.runs,
      datasets: Object.assign(Object.create(store.datasets) as Store["datasets"], {
        find: (id: string) => store.datasets.find(id),
        version: (id: string, version: number) => store.datasets.version(id, version),
        items,
      }),
      [Symbol.asyncDispose]: async () => {},
    };
    const summary = await run({ storage, datasetId, target: echo });
    expect(summary).toMatchObject({
      status: "failed",
      error: "connection lost",
      succeededCount: 100,
      skippedCount: 200,
    });
  });

  test("slowly: no slot is freed before its result is committed", async () => {
    let written = 0;
    let most = 0;
    let begun = 0;
    const write = async (units: readonly Unit[]): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      written += units.length;
    };
    const target = async (): Promise<void> => {
      most = Math.max(most, ++begun - written);
    };
    await run({ storage: await failing({ write }), data: numbers(20), target, maxConcurrency: 3 });
    expect(most).toBeLessThanOrEqual(3);
    expect(written).toBe(20);
  });
});

test("a run that another process works on is refused", async () => {
  const storage = await newStore();
  await storage.runs.create(sampleRun({ id: "r", kind: "dataset" }), context.owner);
  await expect(run({ storage, runId: "r", data: numbers(1), target: echo })).rejects.toThrow();
  const config = { storage, runId: "busy", data: numbers(1) };
  let inner: Promise<unknown> = Promise.resolve();
  const target = function target(): number {
    inner = run({ ...config, target }).catch((error: unknown) => error);
    return 1;
  };
  await run({ ...config, target, onItemComplete: () => inner });
  expect(await inner).toMatchObject({ code: "in_use" });
});

test("a run that another process took over stops with an error", async () => {
  const clock = new FakeClock();
  const storage = await newStore(clock);
  // An owner that is not alive, so that the run can be taken over.
  const dead = { ...context, clock, owner: { ...context.owner, startTicks: 1 } };
  const called = Promise.withResolvers<void>();
  const target = (): Promise<never> => {
    called.resolve();
    return never;
  };
  const stop = new AbortController();
  const ended = runDataset(
    { storage, runId: "r", data: numbers(3), target, maxConcurrency: 1, signal: stop.signal },
    dead,
  );
  await called.promise;
  await storage.runs.resume("r", context.owner);
  await clock.advance(20_000);
  stop.abort();
  const summary = await ended;
  expect(summary).toMatchObject({ status: "failed", skippedCount: 2 });
  expect(summary.error).toMatch(/^another process took over the run: run r is no longer leased/);
});
