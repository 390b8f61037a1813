import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../base/clock.ts";
import { readHost } from "../base/host.ts";
import { readOwner } from "../base/process-owner.ts";
import { runSourceCasesFor } from "./conformance/run-source-cases.ts";
import { sampleRun, sampleUnit } from "./conformance/sample-run.ts";
import { storeAbilities, storeRunSubject } from "./conformance/store-run-subject.ts";
import { joinSources } from "./joined-source.ts";
import { openMemoryStore } from "./memory/open-memory-store.ts";
import { readAll } from "./read-all.ts";
import type { Run } from "./run.ts";
import type { RunFilter, RunSource } from "./run-source.ts";
import type { RunStore } from "./run-store.ts";

const host = readHost(process);
const owner = readOwner(host);

function openRuns(): RunStore {
  return openMemoryStore({ host, clock: systemClock }).runs;
}

async function listNames(source: RunSource, filter: RunFilter, limit: number): Promise<readonly string[]> {
  const runs = await readAll<Run, string>((after) => source.list(filter, { after, limit }));
  return runs.map(({ name }) => name);
}

describe("joined sources keep the contract of a run source", () => {
  const stores = [openRuns(), openRuns(), openRuns()] as const;
  const joined = joinSources(stores);
  const subjects = stores.map((store) => storeRunSubject(store, host, joined));
  afterAll(() => Promise.all(subjects.map((subject) => subject[Symbol.asyncDispose]())));
  let count = 0;
  const [first] = subjects;
  for (const entry of runSourceCasesFor(storeAbilities).filter(({ isSlow }) => !isSlow))
    test(entry.title, async () => {
      if (first === undefined) throw new Error("no subject");
      // Runs go to the stores in turn.
      const openRun = (request?: Parameters<typeof first.openRun>[0]) =>
        (subjects[count++ % subjects.length] ?? first).openRun(request);
      await entry.run({ source: joined, openRun });
    });
});

test("lists a run once, as the first source has it, although the times differ", async () => {
  const [directory, store] = [openRuns(), openRuns()];
  const both = sampleRun({ name: "both", createdAt: 2_000 });
  await directory.create(both, owner);
  for (const run of [
    sampleRun({ name: "newest", createdAt: 9_000 }),
    { ...both, name: "copy", createdAt: 5_000, tags: { copy: "yes" } },
    sampleRun({ name: "oldest", createdAt: 1_000 }),
  ])
    await store.create(run, owner);
  const joined = joinSources([directory, store]);
  for (const limit of [1, 2, 3, 9]) expect(await listNames(joined, {}, limit)).toEqual(["newest", "both", "oldest"]);
  expect(await listNames(joined, { tags: { copy: "yes" } }, 1)).toEqual([]);
  expect((await joined.get(both.id))?.name).toBe("both");
});

test("reads the units of the first source that has the run", async () => {
  const [directory, store] = [openRuns(), openRuns()];
  const run = sampleRun();
  await (await directory.create(run, owner)).write([sampleUnit(0), sampleUnit(1)]);
  await (await store.create(run, owner)).write([sampleUnit(0)]);
  const joined = joinSources([directory, store]);
  expect((await joined.rows(run.id, { page: { after: null, limit: 9 } })).entries).toHaveLength(2);
  expect(await joined.unit(run.id, sampleUnit(1).key)).toEqual(sampleUnit(1));
});

test("joins no sources to an empty one", async () => {
  const joined = joinSources([]);
  expect(await joined.list({}, { after: null, limit: 1 })).toEqual({ entries: [], next: null });
  expect(await joined.get("x")).toBeNull();
});

test("merges long lists of several sources in order, whatever the size of a page", async () => {
  const stores = [openRuns(), openRuns(), openRuns()];
  const names: string[] = [];
  for (let n = 0; n < 100; n++) {
    names.unshift(`run ${n}`);
    await stores[(n * n) % 3]?.create(sampleRun({ name: `run ${n}`, createdAt: n }), owner);
  }
  const joined = joinSources(stores);
  for (const limit of [1, 7, 50, 100, 101]) expect(await listNames(joined, {}, limit)).toEqual(names);
});
