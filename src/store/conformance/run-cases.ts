import { readAll } from "../read-all.ts";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { holdLapsesMs, type ResultWithScores, type RunEnd, type RunRecord } from "../run-store.ts";
import {
  createDataset,
  dead,
  distant,
  hasCode,
  living,
  planRun,
  resultOf,
  scoreOf,
  type StoreCase,
  type StoreSubject,
} from "./store-case.ts";

const finished: RunEnd = {
  status: "completed",
  isFinished: true,
  succeeded: 2,
  failed: 1,
  error: null,
  summary: { mean: 0.5 },
};
const stopped: RunEnd = { ...finished, status: "failed", isFinished: false, error: "cancelled", summary: null };

function readResults({ store }: StoreSubject, runId: string, limit = 2): Promise<ResultWithScores[]> {
  return readAll<ResultWithScores, number>((after) => store.runs.results(runId, { after, limit }));
}

/** Runs: who holds them, what is written, how they end. */
export const runCases: readonly StoreCase[] = [
  {
    title: "a run that began is running, held, and tells its plan",
    async run(subject) {
      const plan = planRun({ identity: { a: [1, null] }, metadata: { who: "é\0" }, datasetId: "d", datasetVersion: 3 });
      const owner = living(subject);
      const { run } = await subject.store.runs.begin(plan, owner);
      assert.deepEqual({ ...run, ...plan }, run);
      const { status, isFinished, isHeld, holder, endedAt, succeeded, failed, error, summary } = run;
      assert.deepEqual([status, isFinished, isHeld, holder, endedAt], ["running", false, true, owner, null]);
      assert.deepEqual([succeeded, failed, error, summary], [0, 0, null, null]);
      assert.deepEqual(await subject.store.runs.find(plan.id), run);
      assert.equal(await subject.store.runs.find("nobody"), null);
    },
  },
  {
    title: "an id that is taken is refused, also by many at once",
    async run(subject) {
      const plan = planRun();
      const ends = await Promise.allSettled(
        Array.from({ length: 6 }, () => subject.store.runs.begin(plan, living(subject))),
      );
      assert.equal(ends.filter(({ status }) => status === "fulfilled").length, 1);
      for (const end of ends) assert.ok(end.status === "fulfilled" || hasCode("already_exists")(end.reason));
    },
  },
  {
    title: "results and scores come back as they were written, in the run's order",
    async run(subject) {
      const plan = planRun();
      const hold = await subject.store.runs.begin(plan, living(subject));
      const text = "é 世界 😀 \u0000 \ud800 ?";
      const odd = resultOf(2, {
        itemId: text,
        status: "failed",
        output: null,
        expectedOutput: { text },
        error: { message: text },
        traceId: "t",
        extra: { usage: { tokens: 3 } },
      });
      await hold.write({ results: [odd], scores: [] });
      const marks = [
        scoreOf(0, "z", { score: 1 / 3, reason: text, extra: { text } }),
        scoreOf(0, "a", { score: null, error: text }),
      ];
      await hold.write({ results: [resultOf(0), resultOf(1)], scores: marks });
      assert.deepEqual(await readResults(subject, plan.id), [
        { result: resultOf(0), scores: marks },
        { result: resultOf(1), scores: [] },
        { result: odd, scores: [] },
      ]);
      assert.deepEqual(await subject.store.runs.outcomes(plan.id, { after: 0, limit: 2 }), {
        entries: [
          { index: 1, status: "succeeded" },
          { index: 2, status: "failed" },
        ],
        next: 2,
      });
    },
  },
  {
    title: "what is there for the same unit and scorer is replaced",
    async run(subject) {
      const plan = planRun();
      const hold = await subject.store.runs.begin(plan, living(subject));
      await hold.write({
        results: [resultOf(0, { status: "failed" }), resultOf(0, { status: "interrupted" })],
        scores: [scoreOf(0, "a"), scoreOf(0, "b"), scoreOf(0, "a", { score: 0.25 })],
      });
      await hold.write({ results: [resultOf(0)], scores: [scoreOf(0, "a", { score: 1 })] });
      assert.deepEqual(await readResults(subject, plan.id), [
        { result: resultOf(0), scores: [scoreOf(0, "a", { score: 1 }), scoreOf(0, "b")] },
      ]);
    },
  },
  {
    title: "scores may come before their result or after it, and are seen with it",
    async run(subject) {
      const plan = planRun();
      const hold = await subject.store.runs.begin(plan, living(subject));
      await hold.write({ results: [resultOf(1)], scores: [scoreOf(0, "a"), scoreOf(1, "a")] });
      assert.deepEqual(await readResults(subject, plan.id), [{ result: resultOf(1), scores: [scoreOf(1, "a")] }]);
      assert.equal((await subject.store.runs.outcomes(plan.id, { after: null, limit: 5 })).entries.length, 1);
      await hold.write({ results: [resultOf(0)], scores: [scoreOf(1, "b"), scoreOf(2, "b")] });
      assert.deepEqual(await readResults(subject, plan.id), [
        { result: resultOf(0), scores: [scoreOf(0, "a")] },
        { result: resultOf(1), scores: [scoreOf(1, "a"), scoreOf(1, "b")] },
      ]);
    },
  },
  {
    title: "units that are forgotten have neither result nor scores and can be written again",
    async run(subject) {
      const plan = planRun();
      const hold = await subject.store.runs.begin(plan, living(subject));
      await hold.write({ results: [0, 1, 2].map((n) => resultOf(n)), scores: [scoreOf(1, "a"), scoreOf(2, "a")] });
      await hold.forget([1, 7]);
      assert.deepEqual(
        (await readResults(subject, plan.id)).map(({ result }) => result.index),
        [0, 2],
      );
      await hold.write({ results: [resultOf(1)], scores: [] });
      assert.deepEqual((await readResults(subject, plan.id))[1], { result: resultOf(1), scores: [] });
    },
  },
  {
    title: "a run that ended is nobody's and says how it ended",
    async run(subject) {
      const plan = planRun();
      const hold = await subject.store.runs.begin(plan, living(subject));
      await hold.end(finished);
      const run = await subject.store.runs.find(plan.id);
      assert.deepEqual({ ...run, ...finished }, run);
      assert.deepEqual([run?.isHeld, run?.holder], [false, null]);
      assert.ok((run?.endedAt ?? 0) >= (run?.createdAt ?? Infinity));
      for (const call of [
        () => hold.beat(),
        () => hold.write({ results: [], scores: [] }),
        () => hold.forget([]),
        () => hold.end(finished),
      ]) {
        await assert.rejects(call(), hasCode("in_use"));
      }
    },
  },
  {
    title: "a finished run is taken up only by who says so, one that was stopped by anybody",
    async run(subject) {
      const { runs } = subject.store;
      const [done, cut] = [planRun(), planRun()];
      await (await runs.begin(done, living(subject))).end(finished);
      await assert.rejects(runs.take(done.id, living(subject)), hasCode("already_exists"));
      const again = await runs.take(done.id, living(subject), "any");
      await again.write({ results: [resultOf(0)], scores: [] });
      await assert.rejects(runs.take(done.id, living(subject), "any"), hasCode("in_use"));
      await again.end(finished);
      const first = await runs.begin(cut, living(subject));
      await first.write({ results: [resultOf(0)], scores: [] });
      await first.end(stopped);
      const hold = await runs.take(cut.id, living(subject));
      assert.deepEqual([hold.run.status, hold.run.isHeld, hold.run.endedAt], ["running", true, null]);
      await hold.write({ results: [resultOf(1)], scores: [] });
      assert.equal((await readResults(subject, cut.id)).length, 2);
      await assert.rejects(runs.take("nobody", living(subject)), hasCode("not_found"));
    },
  },
  {
    title: "a run whose holder lives is not taken up, and the refusal names the holder",
    async run(subject) {
      const plan = planRun();
      await subject.store.runs.begin(plan, living(subject));
      await subject.elapse(holdLapsesMs * 10);
      await assert.rejects(subject.store.runs.take(plan.id, living(subject)), (error: Error) => {
        return hasCode("in_use")(error) && error.message.includes(String(subject.host.pid));
      });
    },
  },
  {
    title: "a run whose holder died does not look alive, and can be taken up at once",
    async run(subject) {
      const { runs } = subject.store;
      const plan = planRun();
      const lost = await runs.begin(plan, dead(subject));
      assert.deepEqual([lost.run.status, lost.run.isHeld], ["running", false]);
      const hold = await runs.take(plan.id, living(subject));
      assert.equal((await runs.find(plan.id))?.isHeld, true);
      for (const call of [
        () => lost.beat(),
        () => lost.write({ results: [resultOf(0)], scores: [] }),
        () => lost.forget([0]),
        () => lost.end(finished),
      ]) {
        await assert.rejects(call(), hasCode("in_use"));
      }
      assert.deepEqual(await readResults(subject, plan.id), []);
      await hold.end(finished);
    },
  },
  {
    title: "of many who take up one run, one gets it",
    async run(subject) {
      const { runs } = subject.store;
      const plan = planRun();
      await runs.begin(plan, dead(subject));
      const ends = await Promise.allSettled(Array.from({ length: 6 }, () => runs.take(plan.id, living(subject))));
      assert.equal(ends.filter(({ status }) => status === "fulfilled").length, 1);
      for (const end of ends) assert.ok(end.status === "fulfilled" || hasCode("in_use")(end.reason));
    },
  },
  {
    title: "a holder of another machine keeps its run by giving signs, and loses it without",
    async run(subject) {
      const { runs } = subject.store;
      const plan = planRun();
      const away = await runs.begin(plan, distant(subject));
      assert.equal(away.run.isHeld, true);
      await subject.elapse(holdLapsesMs * 0.7);
      await away.beat();
      await subject.elapse(holdLapsesMs * 0.7);
      await assert.rejects(runs.take(plan.id, living(subject)), hasCode("in_use"));
      await away.write({ results: [resultOf(0)], scores: [] });
      await subject.elapse(holdLapsesMs * 1.1);
      assert.equal((await runs.find(plan.id))?.isHeld, false);
      await runs.take(plan.id, living(subject));
      await assert.rejects(away.write({ results: [resultOf(1)], scores: [] }), hasCode("in_use"));
      assert.equal((await readResults(subject, plan.id)).length, 1);
    },
  },
  {
    title: "runs are listed newest first, in pages, by kind and by dataset",
    async run(subject) {
      const { runs } = subject.store;
      const datasetId = randomUUID();
      const plans = Array.from({ length: 5 }, (_, n) =>
        planRun({ datasetId, kind: n === 2 ? "experiment" : "dataset", name: `run ${n}` }),
      );
      for (const plan of plans) await runs.begin(plan, living(subject));
      await runs.begin(planRun(), living(subject));
      const list = (kind?: "dataset" | "experiment"): Promise<RunRecord[]> =>
        readAll<RunRecord, string>((after) => runs.list({ datasetId, kind }, { after, limit: 2 }));
      assert.deepEqual(
        (await list()).map(({ name }) => name),
        ["run 4", "run 3", "run 2", "run 1", "run 0"],
      );
      assert.deepEqual(
        (await list("experiment")).map(({ name }) => name),
        ["run 2"],
      );
      const everything = await readAll<RunRecord, string>((after) => runs.list({}, { after, limit: 7 }));
      assert.ok(everything.length >= 6);
    },
  },
  {
    title: "a run is removed with its results unless somebody holds it, and its id is free",
    async run(subject) {
      const { runs } = subject.store;
      const plan = planRun();
      const hold = await runs.begin(plan, living(subject));
      await hold.write({ results: [resultOf(0)], scores: [scoreOf(0, "a")] });
      await assert.rejects(runs.remove(plan.id), hasCode("in_use"));
      await hold.end(stopped);
      await runs.remove(plan.id);
      assert.equal(await runs.find(plan.id), null);
      await assert.rejects(runs.remove(plan.id), hasCode("not_found"));
      await assert.rejects(runs.results(plan.id, { after: null, limit: 1 }), hasCode("not_found"));
      await runs.begin(plan, living(subject));
      assert.deepEqual(await readResults(subject, plan.id), []);
    },
  },
  {
    title: "a run stays when its dataset is removed",
    async run(subject) {
      const { id } = await createDataset(subject);
      const plan = planRun({ datasetId: id, datasetVersion: 0 });
      await subject.store.runs.begin(plan, living(subject));
      await subject.store.datasets.remove(id);
      assert.equal((await subject.store.runs.find(plan.id))?.datasetId, id);
    },
  },
  {
    title: "thousands of results in one batch, and many batches at once, are all there",
    async run(subject) {
      const plan = planRun({ total: 6_000 });
      const hold = await subject.store.runs.begin(plan, living(subject));
      const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);
      const batch = (from: number, to: number) => ({
        results: range(from, to).map((n) => resultOf(n)),
        scores: range(from, to).map((n) => scoreOf(n, "a")),
      });
      await hold.write(batch(0, 5_000));
      await Promise.all(range(0, 50).map((n) => hold.write(batch(5_000 + n * 20, 5_020 + n * 20))));
      const all = await readResults(subject, plan.id, 1_700);
      assert.deepEqual(
        all.map(({ result }) => result.index),
        range(0, 6_000),
      );
      assert.ok(all.every(({ scores }) => scores.length === 1));
    },
  },
];
