import { readAll } from "../read-all.ts";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Json } from "../../base/json.ts";
import type { DatasetVersion, ItemChange, NewItem } from "../dataset-store.ts";
import { change, createDataset, hasCode, readInputs, type StoreCase } from "./store-case.ts";

const awkward: Readonly<Record<string, Json>> = {
  text: "é 世界 😀 \u0000 \u2028 \ud800 'quote' \"double\" \\ %s ?",
  numbers: [0, -1, 1e300, 5e-324, 9_007_199_254_740_991, 0.1],
  nothing: null,
  empty: [{}, [], ""],
  yes: true,
  'key \u0000 "?"': { "": 1, __proto__x: 2 },
};

/** Items, versions and writes. */
export const itemCases: readonly StoreCase[] = [
  {
    title: "a dataset that a write makes is there with its first version, and never without",
    async run({ store: { datasets } }) {
      const name = `made ${randomUUID()}`;
      const nothing = { metadata: {}, inputSchema: null, expectedOutputSchema: null, scorerIds: null };
      const wish = { datasetId: { name, description: "new", ...nothing }, mode: "merge", note: null } as const;
      const isThere = async (): Promise<boolean> => {
        const { entries } = await datasets.list({ after: null, limit: 1_000 });
        return (await datasets.find(name)) !== null || entries.some((each) => each.name === name);
      };
      {
        await using dropped = await datasets.openWrite(wish);
        await dropped.put([{ id: "a", input: 1 }]);
        assert.equal(await isThere(), false);
      }
      assert.equal(await isThere(), false);
      await using one = await datasets.openWrite(wish);
      await using other = await datasets.openWrite(wish);
      await one.put([{ id: "a", input: 1 }]);
      await other.put([{ id: "b", input: 2 }]);
      assert.equal(await isThere(), false);
      assert.equal((await one.commit()).version, 1);
      assert.equal((await other.commit()).version, 2);
      const made = await datasets.find(name);
      assert.deepEqual([made?.description, made?.version, made?.itemCount], ["new", 2, 2]);
    },
  },
  {
    title: "items come back as they were put, in the order in which they came in",
    async run(subject) {
      const { id } = await createDataset(subject);
      const put: NewItem[] = [
        { id: "z", input: awkward, expectedOutput: awkward, metadata: awkward, scorerIds: ["b", "a"] },
        { id: "a", input: null },
        { id: "m", input: "text", expectedOutput: null, metadata: {}, scorerIds: [] },
      ];
      const version = await change(subject, id, { put, note: "first \0" });
      assert.deepEqual([version.version, version.itemCount, version.note], [1, 3, "first \0"]);
      const items = await readAll<unknown, number>((after) => subject.store.datasets.items(id, 1, { after, limit: 2 }));
      assert.deepEqual(
        items,
        put.map((item) => ({ ...item, version: 1 })),
      );
      assert.deepEqual(await subject.store.datasets.item(id, 1, "a"), { id: "a", input: null, version: 1 });
      assert.equal(await subject.store.datasets.item(id, 1, "b"), null);
      assert.equal(await subject.store.datasets.item(id, 0, "a"), null);
    },
  },
  {
    title: "what its owner does with an item after putting it, or reading it, changes nothing",
    async run(subject) {
      const { id } = await createDataset(subject);
      const input = { list: [1] };
      const write = await subject.store.datasets.openWrite({ datasetId: id, mode: "merge", note: null });
      await write.put([{ id: "a", input }]);
      input.list.push(2);
      await write.commit();
      const read = await subject.store.datasets.item(id, 1, "a");
      (read?.input as typeof input | undefined)?.list.push(3);
      assert.deepEqual(await readInputs(subject, id, 1), [["a", { list: [1] }]]);
    },
  },
  {
    title: "items without an id get one of their own each",
    async run(subject) {
      const { id } = await createDataset(subject);
      await change(subject, id, { put: [{ input: 1 }, { input: 1 }, { input: 2 }] });
      const items = await readInputs(subject, id, 1);
      assert.equal(new Set(items.map((item) => (item as unknown[])[0])).size, 3);
    },
  },
  {
    title: "every write makes one version, and all versions stay readable",
    async run(subject) {
      const { id } = await createDataset(subject);
      await change(subject, id, { put: ["a", "b", "c"].map((each) => ({ id: each, input: 1 })), note: "begin" });
      const second = await change(subject, id, {
        put: [
          { id: "b", input: 2 },
          { id: "d", input: 2 },
        ],
        remove: ["a"],
      });
      assert.deepEqual(
        { ...second, createdAt: 0 },
        { version: 2, createdAt: 0, note: null, itemCount: 3, added: 1, changed: 1, removed: 1 },
      );
      assert.deepEqual(await readInputs(subject, id, 1), [
        ["a", 1],
        ["b", 1],
        ["c", 1],
      ]);
      assert.deepEqual(await readInputs(subject, id, 2), [
        ["b", 2],
        ["c", 1],
        ["d", 2],
      ]);
      assert.deepEqual(await readInputs(subject, id, 0), []);
      assert.equal((await subject.store.datasets.item(id, 2, "b"))?.version, 2);
      assert.equal((await subject.store.datasets.item(id, 2, "c"))?.version, 1);
      const { version, itemCount } = (await subject.store.datasets.find(id)) ?? {};
      assert.deepEqual([version, itemCount], [2, 3]);
    },
  },
  {
    title: "versions are listed newest first, in pages, and found one by one",
    async run(subject) {
      const { id } = await createDataset(subject);
      for (const input of [1, 2, 3, 4, 5]) await change(subject, id, { put: [{ id: "a", input }] });
      const all = await readAll<DatasetVersion, number>((after) =>
        subject.store.datasets.versions(id, { after, limit: 2 }),
      );
      assert.deepEqual(
        all.map(({ version }) => version),
        [5, 4, 3, 2, 1],
      );
      assert.deepEqual(await subject.store.datasets.version(id, 3), all[2]);
    },
  },
  {
    title: "a write that changes nothing makes no version",
    async run(subject) {
      const { id } = await createDataset(subject);
      assert.equal((await change(subject, id, {})).version, 0);
      const first = await change(subject, id, { put: [{ id: "a", input: { b: 1 } }] });
      assert.deepEqual(await change(subject, id, { put: [{ id: "a", input: { b: 1 } }], remove: ["x"] }), first);
      assert.deepEqual(await change(subject, id, { put: [{ id: "a", input: { b: 1 } }], mode: "replace" }), first);
    },
  },
  {
    title: "of two with one id in a write the last one counts, in the place of the first",
    async run(subject) {
      const { id } = await createDataset(subject);
      const put = [
        { id: "a", input: 1 },
        { id: "b", input: 1 },
        { id: "a", input: 2 },
      ];
      assert.equal((await change(subject, id, { put, remove: ["b"] })).added, 1);
      assert.deepEqual(await readInputs(subject, id, 1), [["a", 2]]);
    },
  },
  {
    title: "an item keeps its place when it is changed, and when it is removed and comes back",
    async run(subject) {
      const { id } = await createDataset(subject);
      await change(subject, id, { put: ["a", "b", "c"].map((each) => ({ id: each, input: 1 })) });
      await change(subject, id, { put: [{ id: "a", input: 2 }], remove: ["b"] });
      await change(subject, id, {
        put: [
          { id: "d", input: 3 },
          { id: "b", input: 3 },
        ],
      });
      assert.deepEqual(await readInputs(subject, id, 3), [
        ["a", 2],
        ["b", 3],
        ["c", 1],
        ["d", 3],
      ]);
      assert.deepEqual(await readInputs(subject, id, 2), [
        ["a", 2],
        ["c", 1],
      ]);
    },
  },
  {
    title: "replacing removes every item that is not put again",
    async run(subject) {
      const { id } = await createDataset(subject);
      await change(subject, id, { put: ["a", "b", "c"].map((each) => ({ id: each, input: 1 })) });
      const put = [
        { id: "c", input: 1 },
        { id: "b", input: 2 },
        { id: "e", input: 2 },
      ];
      const { added, changed, removed } = await change(subject, id, { put, mode: "replace" });
      assert.deepEqual([added, changed, removed], [1, 1, 1]);
      assert.deepEqual(await readInputs(subject, id, 2), [
        ["b", 2],
        ["c", 1],
        ["e", 2],
      ]);
      assert.equal((await change(subject, id, { mode: "replace" })).itemCount, 0);
      assert.deepEqual(await readInputs(subject, id, 3), []);
    },
  },
  {
    title: "nobody sees a write before it is committed, and one that is given up leaves no trace",
    async run(subject) {
      const { datasets } = subject.store;
      const { id } = await createDataset(subject);
      {
        await using write = await datasets.openWrite({ datasetId: id, mode: "merge", note: null });
        await write.put([{ id: "a", input: 1 }]);
        assert.equal((await datasets.find(id))?.version, 0);
        assert.deepEqual(await datasets.history(id, "a"), []);
      }
      assert.equal((await datasets.find(id))?.version, 0);
      assert.equal((await change(subject, id, { put: [{ id: "b", input: 1 }] })).itemCount, 1);
    },
  },
  {
    title: "of two writes that are open at once both are kept",
    async run(subject) {
      const { datasets } = subject.store;
      const { id } = await createDataset(subject);
      await change(subject, id, { put: [{ id: "both", input: 0 }] });
      const wish = { datasetId: id, mode: "merge", note: null } as const;
      await using one = await datasets.openWrite(wish);
      await using other = await datasets.openWrite(wish);
      await one.put([
        { id: "one", input: 1 },
        { id: "both", input: 1 },
      ]);
      await other.put([
        { id: "other", input: 2 },
        { id: "both", input: 2 },
      ]);
      assert.equal((await other.commit()).version, 2);
      assert.equal((await one.commit()).version, 3);
      assert.deepEqual(await readInputs(subject, id, 3), [
        ["both", 1],
        ["other", 2],
        ["one", 1],
      ]);
      assert.deepEqual(await readInputs(subject, id, 2), [
        ["both", 2],
        ["other", 2],
      ]);
    },
  },
  {
    title: "many who write at once lose nothing and make a version each",
    async run(subject) {
      const { id } = await createDataset(subject);
      const writers = Array.from({ length: 12 }, (_, n) =>
        change(subject, id, {
          put: [
            { id: `own-${n}`, input: n },
            { id: "shared", input: n },
          ],
        }),
      );
      const versions = (await Promise.all(writers)).map(({ version }) => version);
      assert.deepEqual(
        versions.toSorted((a, b) => a - b),
        Array.from({ length: 12 }, (_, n) => n + 1),
      );
      assert.equal((await readInputs(subject, id, 12)).length, 13);
    },
  },
  {
    title: "a write that is over takes nothing more",
    async run(subject) {
      const { datasets } = subject.store;
      const { id } = await createDataset(subject);
      const wish = { datasetId: id, mode: "merge", note: null } as const;
      const write = await datasets.openWrite(wish);
      await write.put([{ id: "a", input: 1 }]);
      await write.commit();
      await assert.rejects(write.put([{ id: "b", input: 1 }]), hasCode("in_use"));
      await assert.rejects(write.commit(), hasCode("in_use"));
      const orphan = await datasets.openWrite(wish);
      await datasets.remove(id);
      await assert.rejects(orphan.put([{ id: "b", input: 1 }]), hasCode("in_use"));
      await orphan[Symbol.asyncDispose]();
    },
  },
  {
    title: "the history of an item tells all its editions, newest first",
    async run(subject) {
      const { datasets } = subject.store;
      const { id } = await createDataset(subject);
      await change(subject, id, { put: [{ id: "a", input: 1 }] });
      await change(subject, id, { put: [{ id: "a", input: 2 }] });
      await change(subject, id, { remove: ["a"] });
      await change(subject, id, { put: [{ id: "a", input: 3 }] });
      const history = (await datasets.history(id, "a")).map(({ item, until }) => [item.input, item.version, until]);
      assert.deepEqual(history, [
        [3, 4, null],
        [2, 2, 3],
        [1, 1, 2],
      ]);
      assert.deepEqual(await datasets.history(id, "b"), []);
    },
  },
  {
    title: "a difference names what was added, changed and removed, both ways and in pages",
    async run(subject) {
      const { datasets } = subject.store;
      const { id } = await createDataset(subject);
      await change(subject, id, { put: ["a", "b", "c", "d"].map((each) => ({ id: each, input: 1 })) });
      await change(subject, id, {
        put: [
          { id: "b", input: 2 },
          { id: "e", input: 2 },
          { id: "d", input: 2 },
        ],
        remove: ["a"],
      });
      await change(subject, id, {
        put: [
          { id: "d", input: 1 },
          { id: "f", input: 3 },
        ],
      });
      await change(subject, id, { remove: ["f"] });
      const diff = async (from: number, to: number): Promise<unknown[]> => {
        const all = await readAll<ItemChange, number>((after) => datasets.diff(id, from, to, { after, limit: 1 }));
        return all.map(({ id: itemId, before, after }) => [itemId, before?.input ?? null, after?.input ?? null]);
      };
      assert.deepEqual(await diff(1, 4), [
        ["a", 1, null],
        ["b", 1, 2],
        ["e", null, 2],
      ]);
      assert.deepEqual(await diff(4, 1), [
        ["a", null, 1],
        ["b", 2, 1],
        ["e", 2, null],
      ]);
      assert.deepEqual(await diff(0, 2), [
        ["b", null, 2],
        ["c", null, 1],
        ["d", null, 2],
        ["e", null, 2],
      ]);
      assert.deepEqual(await diff(3, 3), []);
    },
  },
  {
    title: "thousands of items go in and come out whole, in every page size",
    async run(subject) {
      const { id } = await createDataset(subject);
      const put = Array.from({ length: 5_003 }, (_, n) => ({ id: `item-${n}`, input: n }));
      assert.equal((await change(subject, id, { put })).itemCount, 5_003);
      const half = put.filter((_, n) => n % 2 === 0).map((item) => ({ ...item, input: -1 }));
      const { changed, removed } = await change(subject, id, { put: half, mode: "replace" });
      assert.deepEqual([changed, removed], [2_502, 2_501]);
      for (const limit of [999, 5_003]) {
        const all = await readAll<{ id: string }, number>((after) =>
          subject.store.datasets.items(id, 1, { after, limit }),
        );
        assert.deepEqual(
          all.map((item) => item.id),
          put.map((item) => item.id),
        );
      }
    },
  },
];
