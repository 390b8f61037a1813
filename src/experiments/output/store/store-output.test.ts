import { expect, test } from "vitest";
import { systemClock as clock } from "../../../base/clock.ts";
import { readHost } from "../../../base/host.ts";
import { readOwner } from "../../../base/process-owner.ts";
import { openMemoryStore } from "../../../store/memory/open-memory-store.ts";
import type { Run } from "../../../store/run.ts";
import type { Store } from "../../../store/store.ts";
import {
  sampleAnswer,
  sampleExamples,
  sampleExperiment,
  sampleRuns,
  endSample,
} from "../../testing/sample-experiment.ts";
import { toUnit } from "../../run/to-unit.ts";
import { findInPages } from "./find-in-pages.ts";
import { openStoreRepository } from "./store-repository.ts";

const host = readHost(process);
const owner = readOwner(host);

/** A store in which some call of each lease fails. */
function openFailingStore(fails: (end: Run) => boolean): Store {
  const store = openMemoryStore({ host, clock });
  const { runs } = store;
  const create: typeof runs.create = async (run, us) => {
    const lease = await runs.create(run, us);
    return {
      ...lease,
      end: async (last) => {
        if (fails(last)) throw new Error("the store is busy");
        await lease.end(last);
      },
    };
  };
  return { ...store, runs: Object.assign(Object.create(runs) as typeof runs, { create, get: runs.get.bind(runs) }) };
}

test("an end that fails is stored when the output is released", async () => {
  let ends = 0;
  const store = openFailingStore(() => ++ends === 1);
  const repository = openStoreRepository({ store, owner, clock });
  const experiment = sampleExperiment();
  {
    await using output = await repository.begin(experiment, sampleExamples);
    await expect(endSample(output)).rejects.toThrow("the store is busy");
    expect(await repository.find(experiment.id)).toMatchObject({ status: "running", owner: { pid: host.pid } });
  }
  expect(await repository.find(experiment.id)).toMatchObject({ status: "completed", owner: null, isResumable: false });
});

test("an output that is released without an end leaves what was known last", async () => {
  const store = openMemoryStore({ host, clock });
  const repository = openStoreRepository({ store, owner, clock });
  const experiment = sampleExperiment();
  const counts = { finished: 2, completed: 2, failed: 0, cancelled: 0, untrusted: 0 };
  {
    await using output = await repository.begin(experiment, sampleExamples);
    await output.update({ ...output.run, counts });
  }
  expect(await repository.find(experiment.id)).toMatchObject({ status: "interrupted", owner: null, counts });
});

test("a run of another kind is refused and not leased", async () => {
  const store = openMemoryStore({ host, clock });
  const repository = openStoreRepository({ store, owner, clock });
  const run: Run = { ...sampleExperiment(), kind: "dataset", status: "completed" };
  await (await store.runs.create(run, owner)).end(run);
  await expect(repository.resume(run.id)).rejects.toMatchObject({ code: "usage_invalid" });
  await expect(repository.rescore(run.id)).rejects.toMatchObject({ code: "usage_invalid" });
  expect(await store.runs.get(run.id)).toMatchObject({ status: "completed", owner: null });
});

test("units are found by index, whichever indexes are stored and asked for", async () => {
  const store = openMemoryStore({ host, clock });
  const experiment = sampleExperiment();
  const lease = await store.runs.create(experiment, owner);
  const [run] = await sampleRuns();
  if (run === undefined) throw new Error("no run");
  const unitAt = (index: number) =>
    toUnit({ ...sampleAnswer({ ...run, index }), evaluations: [] }, { experiment: "x", repetitions: 1 });
  // Gaps are larger than a page, at the beginning, between units and at the end.
  const stored = new Set([...range(500, 1000), ...range(1000, 1003), 2500, ...range(3000, 3200)]);
  await lease.write([...stored].map((index) => ({ ...unitAt(index), key: `k${index}` })));
  for (const step of [1, 7, 199, 200, 201, 1500]) {
    const find = findInPages(store, experiment.id);
    for (const index of range(0, 4000, step))
      expect((await find(index))?.key ?? null).toBe(stored.has(index) ? `k${index}` : null);
  }
});

function range(from: number, to: number, step = 1): number[] {
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, n) => from + n * step);
}
