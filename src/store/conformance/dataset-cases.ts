import { readAll } from "../read-all.ts";
import assert from "node:assert/strict";
import type { DatasetRecord } from "../dataset-store.ts";
import { change, createDataset, hasCode, newName, readInputs, type StoreCase } from "./store-case.ts";

/** Datasets as such: names, traits, lists, removal. */
export const datasetCases: readonly StoreCase[] = [
  {
    title: "a new dataset has version 0 and no items, and is found by id and by name",
    async run(subject) {
      const traits = {
        description: "what it is",
        metadata: { team: "a", deep: { list: [1, null, "é"] } },
        inputSchema: { type: "string" },
        expectedOutputSchema: null,
        scorerIds: ["exact"],
      };
      const made = await createDataset(subject, traits);
      assert.deepEqual({ ...made, ...traits }, made);
      assert.deepEqual([made.version, made.itemCount], [0, 0]);
      assert.deepEqual(await subject.store.datasets.find(made.id), made);
      assert.deepEqual(await subject.store.datasets.find(made.name), made);
      assert.deepEqual(await subject.store.datasets.items(made.id, 0, { after: null, limit: 5 }), {
        entries: [],
        next: null,
      });
      assert.equal((await subject.store.datasets.version(made.id, 0))?.itemCount, 0);
    },
  },
  {
    title: "a name that is taken is refused, for a new dataset and for a change",
    async run(subject) {
      const [one, other] = [await createDataset(subject), await createDataset(subject)];
      await assert.rejects(createDataset(subject, { name: one.name }), hasCode("already_exists"));
      await assert.rejects(subject.store.datasets.update(other.id, { name: one.name }), hasCode("already_exists"));
      assert.equal((await subject.store.datasets.update(one.id, { name: one.name })).name, one.name);
    },
  },
  {
    title: "of many who create one name at once, one succeeds",
    async run(subject) {
      const name = newName("wanted");
      const ends = await Promise.allSettled(Array.from({ length: 8 }, () => createDataset(subject, { name })));
      assert.equal(ends.filter(({ status }) => status === "fulfilled").length, 1);
      for (const end of ends) assert.ok(end.status === "fulfilled" || hasCode("already_exists")(end.reason));
    },
  },
  {
    title: "names that not every store can keep are refused",
    async run(subject) {
      for (const name of ["", "a\0b", "\ud800", "x".repeat(2000)]) {
        await assert.rejects(createDataset(subject, { name }), hasCode("usage_invalid"));
      }
    },
  },
  {
    title: "changing traits makes no version and leaves the others as they are",
    async run(subject) {
      const made = await createDataset(subject, { description: "old", metadata: { a: 1 } });
      await change(subject, made.id, { put: [{ id: "a", input: 1 }] });
      const changed = await subject.store.datasets.update(made.id, { description: "new" });
      assert.deepEqual([changed.description, changed.metadata, changed.version], ["new", { a: 1 }, 1]);
      assert.deepEqual(await subject.store.datasets.find(made.id), changed);
    },
  },
  {
    title: "lists are sorted by name and come in pages without gaps or doubles",
    async run(subject) {
      const stem = newName("list");
      const names = ["B", "a", "b", "ä", "😀", "\uffee"].map((end) => `${stem} ${end}`);
      for (const name of names.toReversed()) await createDataset(subject, { name });
      const all = await readAll<DatasetRecord, string>((after) => subject.store.datasets.list({ after, limit: 3 }));
      const ours = all.map(({ name }) => name).filter((name) => name.startsWith(stem));
      const sorted = names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      assert.deepEqual(ours, sorted);
    },
  },
  {
    title: "a removed dataset is gone with its items, and its name is free",
    async run(subject) {
      const { datasets } = subject.store;
      const made = await createDataset(subject);
      await change(subject, made.id, { put: [{ id: "a", input: 1 }] });
      await datasets.remove(made.id);
      assert.equal(await datasets.find(made.id), null);
      assert.equal(await datasets.find(made.name), null);
      await assert.rejects(datasets.remove(made.id), hasCode("not_found"));
      const again = await createDataset(subject, { name: made.name });
      assert.deepEqual(await readInputs(subject, again.id, 0), []);
    },
  },
  {
    title: "what is asked of an unknown dataset or version is refused as not found",
    async run(subject) {
      const { datasets } = subject.store;
      const { id } = await createDataset(subject);
      const page = { after: null, limit: 1 };
      for (const name of ["nobody", "no\0body", ""]) assert.equal(await datasets.find(name), null);
      assert.equal(await datasets.item(id, 0, "\0"), null);
      assert.equal(await datasets.version(id, 1), null);
      for (const asked of [
        () => datasets.update("nobody", {}),
        () => datasets.openWrite({ datasetId: "nobody", mode: "merge", note: null }),
        () => datasets.versions("nobody", page),
        () => datasets.version("nobody", 0),
        () => datasets.items("nobody", 0, page),
        () => datasets.items(id, 1, page),
        () => datasets.items(id, -1, page),
        () => datasets.item(id, 1, "a"),
        () => datasets.history("nobody", "a"),
        () => datasets.diff(id, 0, 1, page),
      ]) {
        await assert.rejects(async () => asked(), hasCode("not_found"));
      }
    },
  },
];
