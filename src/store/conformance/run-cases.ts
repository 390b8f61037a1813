import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readAll } from "../read-all.ts";
import type { Run, Unit } from "../run.ts";
import { leaseTimeoutMs, type RunLease } from "../run-store.ts";
import { sampleRun, sampleUnit } from "./sample-run.ts";
import { createDataset, dead, distant, hasCode, living, type StoreCase, type StoreSubject } from "./store-case.ts";

/** Returns the final state of a run that is complete. */
function completed(run: Run): Run {
  return { ...run, status: "completed", isResumable: false, endedAt: run.createdAt + 60_000 };
}

function cancelled(run: Run): Run {
  return { ...completed(run), status: "cancelled", isResumable: true };
}

function readUnits({ store }: StoreSubject, runId: string, limit = 2): Promise<Unit[]> {
  return readAll<Unit, string>((after) => store.runs.units(runId, { page: { after, limit } }));
}

async function readIndexes(subject: StoreSubject, runId: string, limit?: number): Promise<number[]> {
  return (await readUnits(subject, runId, limit)).map(({ index }) => index);
}

async function rejectsEveryCall(lease: RunLease): Promise<void> {
  const { run } = lease;
  const calls = [
    () => lease.renew(),
    () => lease.renew(run),
    () => lease.write([]),
    () => lease.write([sampleUnit(0)]),
    () => lease.remove([0]),
    () => lease.end(completed(run)),
  ];
  for (const call of calls) await assert.rejects(call(), hasCode("in_use"));
}

/** Runs: who may write to them, what is stored, how they end. */
export const runCases: readonly StoreCase[] = [
  {
    title: "a new run is returned as it was given, with its owner",
    async run(subject) {
      const { runs } = subject.store;
      const text = "é 世界 😀 \u0000 \ud800 ?";
      const run = sampleRun({
        name: text,
        description: text,
        tags: { [text]: text },
        params: { text, list: [1, null, 0.1] },
        datasets: [{ name: text, id: "d", version: "3" }],
        git: { revision: "abc", isDirty: true },
      });
      const { pid, hostname } = living(subject);
      const lease = await runs.create(run, living(subject));
      assert.deepEqual(lease.run, { ...run, owner: { pid, hostname } });
      assert.deepEqual(await runs.get(run.id), lease.run);
      assert.equal(await runs.get("unknown"), null);
      assert.equal(await runs.get("\0"), null);
    },
  },
  {
    title: "an id that exists is refused, also when many processes ask for it at once",
    async run({ store, host }) {
      const run = sampleRun();
      const owner = living({ store, host, elapse: async () => {} });
      const ends = await Promise.allSettled(Array.from({ length: 6 }, () => store.runs.create(run, owner)));
      assert.equal(ends.filter(({ status }) => status === "fulfilled").length, 1);
      for (const end of ends) assert.ok(end.status === "fulfilled" || hasCode("already_exists")(end.reason));
    },
  },
  {
    title: "ids that some store cannot hold are refused",
    async run(subject) {
      for (const id of ["", "a\0b", "\ud800", "x".repeat(2000)])
        await assert.rejects(subject.store.runs.create(sampleRun({ id }), living(subject)), hasCode("usage_invalid"));
    },
  },
  {
    title: "units are returned as they were written, in the order of their indexes",
    async run(subject) {
      const run = sampleRun();
      const lease = await subject.store.runs.create(run, living(subject));
      const text = "é 世界 😀 \u0000 \ud800 ?";
      const odd = sampleUnit(2, {
        key: text,
        labels: { [text]: text },
        scores: [
          { name: text, value: 1 / 3, label: text, reason: text, metadata: { text } },
          { name: "reward", value: null, error: text },
        ],
        input: null,
        expected: { text },
        output: text,
        warnings: [text],
        details: { text },
      });
      await lease.write([odd]);
      await lease.write([sampleUnit(1), sampleUnit(0)]);
      assert.deepEqual(await readUnits(subject, run.id), [sampleUnit(0), sampleUnit(1), odd]);
      assert.deepEqual(await subject.store.runs.unit(run.id, text), odd);
    },
  },
  {
    title: "a unit replaces the stored one with the same index, and the last one of a batch counts",
    async run(subject) {
      const run = sampleRun();
      const lease = await subject.store.runs.create(run, living(subject));
      await lease.write([sampleUnit(0, { status: "failed", key: "old" }), sampleUnit(0, { status: "cancelled" })]);
      assert.deepEqual(await readUnits(subject, run.id), [sampleUnit(0, { status: "cancelled" })]);
      await lease.write([sampleUnit(0, { output: "new" })]);
      assert.deepEqual(await readUnits(subject, run.id), [sampleUnit(0, { output: "new" })]);
      assert.equal(await subject.store.runs.unit(run.id, "old"), null);
    },
  },
  {
    title: "units that are removed can be written again",
    async run(subject) {
      const run = sampleRun();
      const lease = await subject.store.runs.create(run, living(subject));
      await lease.write([0, 1, 2].map((n) => sampleUnit(n)));
      await lease.remove([]);
      await lease.remove([1, 7]);
      assert.deepEqual(await readIndexes(subject, run.id), [0, 2]);
      await lease.write([sampleUnit(1, { output: "again" })]);
      assert.deepEqual((await readUnits(subject, run.id))[1], sampleUnit(1, { output: "again" }));
    },
  },
  {
    title: "renewing a lease stores the run that is given with it",
    async run(subject) {
      const { runs } = subject.store;
      const run = sampleRun();
      const lease = await runs.create(run, living(subject));
      await lease.renew();
      assert.deepEqual(await runs.get(run.id), lease.run);
      const progress: Run = { ...run, status: "paused", spendUsd: 3, tags: { a: "b" } };
      await lease.renew(progress);
      assert.deepEqual(await runs.get(run.id), { ...progress, owner: lease.run.owner });
    },
  },
  {
    title: "a run that ended has its final state and no owner, and its lease is over",
    async run(subject) {
      const { runs } = subject.store;
      const run = sampleRun();
      const lease = await runs.create(run, living(subject));
      await lease.end(completed(run));
      assert.deepEqual(await runs.get(run.id), completed(run));
      await rejectsEveryCall(lease);
    },
  },
  {
    title: "a complete run is resumed only if that is allowed, a cancelled one always",
    async run(subject) {
      const { runs } = subject.store;
      const [done, stopped] = [sampleRun(), sampleRun()];
      await (await runs.create(done, living(subject))).end(completed(done));
      await assert.rejects(runs.resume(done.id, living(subject)), hasCode("already_exists"));
      const again = await runs.resume(done.id, living(subject), { allowCompleted: true });
      await again.write([sampleUnit(0)]);
      await assert.rejects(runs.resume(done.id, living(subject), { allowCompleted: true }), hasCode("in_use"));
      await again.end(completed(done));
      const first = await runs.create(stopped, living(subject));
      await first.write([sampleUnit(0)]);
      await first.end(cancelled(stopped));
      const lease = await runs.resume(stopped.id, living(subject));
      const { status, endedAt, owner } = lease.run;
      assert.deepEqual([status, endedAt, owner?.pid], ["running", null, subject.host.pid]);
      assert.deepEqual(await runs.get(stopped.id), lease.run);
      await lease.write([sampleUnit(1)]);
      assert.deepEqual(await readIndexes(subject, stopped.id), [0, 1]);
      await rejectsEveryCall(first);
      await assert.rejects(runs.resume("unknown", living(subject)), hasCode("not_found"));
    },
  },
  {
    title: "a run whose process is alive cannot be resumed, and the error names the process",
    async run(subject) {
      const run = sampleRun();
      await subject.store.runs.create(run, living(subject));
      await subject.elapse(leaseTimeoutMs * 10);
      await assert.rejects(subject.store.runs.resume(run.id, living(subject)), (error: Error) => {
        return hasCode("in_use")(error) && error.message.includes(String(subject.host.pid));
      });
    },
  },
  {
    title: "a run whose process died is interrupted and can be taken over at once",
    async run(subject) {
      const { runs } = subject.store;
      const run = sampleRun({ isResumable: false });
      const lost = await runs.create(run, dead(subject));
      const stored = await runs.get(run.id);
      assert.deepEqual([stored?.status, stored?.owner, stored?.isResumable], ["interrupted", null, true]);
      const lease = await runs.resume(run.id, living(subject));
      assert.deepEqual([lease.run.status, lease.run.owner?.pid], ["running", subject.host.pid]);
      await rejectsEveryCall(lost);
      assert.deepEqual(await readUnits(subject, run.id), []);
      await lease.end(completed(run));
    },
  },
  {
    title: "a paused run whose process died is interrupted, an ended one keeps its status",
    async run(subject) {
      const { runs } = subject.store;
      const [paused, ended] = [sampleRun(), sampleRun()];
      await (await runs.create(paused, dead(subject))).renew({ ...paused, status: "paused" });
      await (await runs.create(ended, dead(subject))).end(cancelled(ended));
      assert.equal((await runs.get(paused.id))?.status, "interrupted");
      assert.equal((await runs.get(ended.id))?.status, "cancelled");
    },
  },
  {
    title: "one of many processes that resume a run at once gets it",
    async run(subject) {
      const { runs } = subject.store;
      const run = sampleRun();
      await runs.create(run, dead(subject));
      const ends = await Promise.allSettled(Array.from({ length: 6 }, () => runs.resume(run.id, living(subject))));
      assert.equal(ends.filter(({ status }) => status === "fulfilled").length, 1);
      for (const end of ends) assert.ok(end.status === "fulfilled" || hasCode("in_use")(end.reason));
    },
  },
  {
    title: "a process on another machine keeps its run while it renews the lease, and loses it otherwise",
    async run(subject) {
      const { runs } = subject.store;
      const run = sampleRun();
      const remote = await runs.create(run, distant(subject));
      assert.equal((await runs.get(run.id))?.owner?.hostname, distant(subject).hostname);
      await subject.elapse(leaseTimeoutMs * 0.7);
      await remote.renew();
      await subject.elapse(leaseTimeoutMs * 0.7);
      await assert.rejects(runs.resume(run.id, living(subject)), hasCode("in_use"));
      await remote.write([sampleUnit(0)]);
      await subject.elapse(leaseTimeoutMs * 1.1);
      assert.equal((await runs.get(run.id))?.status, "interrupted");
      await runs.resume(run.id, living(subject));
      await assert.rejects(remote.write([sampleUnit(1)]), hasCode("in_use"));
      assert.deepEqual(await readIndexes(subject, run.id), [0]);
    },
  },
  {
    title: "a removed run is gone with its units, and its id is free",
    async run(subject) {
      const { runs } = subject.store;
      const run = sampleRun();
      const lease = await runs.create(run, living(subject));
      await lease.write(Array.from({ length: 2_500 }, (_, n) => sampleUnit(n)));
      await assert.rejects(runs.remove(run.id), hasCode("in_use"));
      await lease.end(cancelled(run));
      await runs.remove(run.id);
      assert.equal(await runs.get(run.id), null);
      await assert.rejects(runs.remove(run.id), hasCode("not_found"));
      await assert.rejects(runs.rows(run.id, { page: { after: null, limit: 1 } }), hasCode("not_found"));
      await runs.create(run, living(subject));
      assert.deepEqual(await readUnits(subject, run.id), []);
    },
  },
  {
    title: "a run whose process died can be removed",
    async run(subject) {
      const { runs } = subject.store;
      const run = sampleRun();
      const lost = await runs.create(run, dead(subject));
      await runs.remove(run.id);
      assert.equal(await runs.get(run.id), null);
      await rejectsEveryCall(lost);
    },
  },
  {
    title: "a run stays when its dataset is removed, and is found by the dataset's id",
    async run(subject) {
      const { id, name } = await createDataset(subject);
      const run = sampleRun({ datasets: [{ name, id, version: "0" }] });
      await subject.store.runs.create(run, living(subject));
      await subject.store.runs.create(sampleRun(), living(subject));
      await subject.store.datasets.remove(id);
      const { entries } = await subject.store.runs.list({ datasetId: id }, { after: null, limit: 5 });
      assert.deepEqual(
        entries.map((entry) => entry.id),
        [run.id],
      );
      const none = await subject.store.runs.list({ datasetId: randomUUID() }, { after: null, limit: 5 });
      assert.deepEqual(none, { entries: [], next: null });
    },
  },
  {
    title: "thousands of units in one batch, and many batches at once, are all stored",
    async run(subject) {
      const run = sampleRun();
      const lease = await subject.store.runs.create(run, living(subject));
      const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);
      const batch = (from: number, to: number) => range(from, to).map((n) => sampleUnit(n));
      await lease.write(batch(0, 5_000));
      await Promise.all(range(0, 50).map((n) => lease.write(batch(5_000 + n * 20, 5_020 + n * 20))));
      assert.deepEqual(await readIndexes(subject, run.id, 1_700), range(0, 6_000));
    },
  },
];
