import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../base/json.ts";
import { toRaw } from "../../base/raw-json.ts";
import type { RunPlan } from "../../store/run-store.ts";
import type { ExampleSource } from "../examples/example-source.ts";
import type { EvalOutcome } from "../executor/executor.ts";
import { readEarlierSessions } from "../output/earlier-sessions.ts";
import type { ExperimentOutput } from "../output/experiment-output.ts";
import type { ExperimentShelf, KeptRun } from "../output/experiment-shelf.ts";
import { planExperiment } from "../output/plan-experiment.ts";
import type { Example, PlannedRun } from "../run/example.ts";
import type { ExperimentSummary } from "../run/experiment-tally.ts";
import { planRuns } from "../run/plan-runs.ts";

/** What every place for experiments does, wherever it keeps them. */
export interface ShelfCase {
  readonly title: string;
  run(shelf: ExperimentShelf): Promise<void>;
}

const repetitions = 2;

const list: readonly Example[] = Array.from({ length: 3 }, (_, at) => ({
  id: `e ${at} # é`,
  input: toRaw({ at, text: "\u2028 \n" }),
  output: at === 1 ? null : toRaw(at),
  metadata: at === 2 ? toRaw({ tag: "x" }) : null,
}));

const examples: ExampleSource = {
  name: "list.jsonl",
  dataset: null,
  count: list.length,
  hash: "the hash",
  plainFile: null,
  async *read() {
    yield list;
  },
};

function plan(): RunPlan {
  const evaluators = ["right", "small"];
  const facts = { file: "x.py", examples, params: { model: "m" }, repetitions, evaluators, passAt: 1, maxWorkers: 4 };
  return planExperiment({ ...facts, id: `x-${randomUUID()}`, name: "x" });
}

function mark(evaluator: string, more: Partial<EvalOutcome> = {}): EvalOutcome {
  const nothing = { label: null, explanation: null, metadata: null, error: null };
  return { evaluator, score: 0.5, ...nothing, ...more };
}

async function save(output: ExperimentOutput, run: PlannedRun, error: string | null = null): Promise<void> {
  await output.saveRun({
    run,
    outcome: {
      output: error === null ? toRaw({ of: run.runId }) : null,
      metadata: toRaw({ ms: 1 }),
      error,
      isCancelled: false,
    },
    failureType: error === null ? null : "task_timeout",
    startedAt: 1_700_000_000_000,
    durationMs: 1500,
  });
}

function summary(id: string, more: Partial<ExperimentSummary> = {}): ExperimentSummary {
  return {
    id,
    status: "completed",
    totalRuns: 6,
    succeeded: 6,
    failed: 0,
    skipped: 0,
    failedEvaluations: 0,
    averageScores: { right: 0.5 },
    aggregates: [],
    params: { model: "m" },
    durationSec: 1.5,
    sessions: 1,
    scorings: [],
    protocolProblems: { unknown: 0, duplicate: 0, late: 0, malformed: 0, unconfirmed: 0 },
    error: null,
    cause: null,
    firstFailure: null,
    location: "",
    ...more,
  };
}

const runs = (): Promise<PlannedRun[]> => all(planRuns(examples.read(), repetitions));

async function all<T>(groups: AsyncIterable<Iterable<T>>): Promise<T[]> {
  return (await Array.fromAsync(groups, (group) => [...group])).flat();
}

const keptOf = (shelf: ExperimentShelf, id: string): Promise<KeptRun[]> => Array.fromAsync(shelf.runs(id));

async function beginCut(shelf: ExperimentShelf): Promise<{ id: string; all: PlannedRun[] }> {
  const begun = plan();
  const all = await runs();
  const [first, second, third] = all;
  assert.ok(first && second && third);
  await using output = await shelf.begin(begun, examples);
  assert.equal(output.findEarlier, null);
  // They come in the order in which they end.
  await save(output, third, "too slow");
  await save(output, first);
  await save(output, second);
  await output.saveEvaluation(first, mark("right", { label: "ok", explanation: "é", metadata: toRaw({ k: [1] }) }));
  await output.saveEvaluation(first, mark("small", { score: null, error: "no" }));
  await output.saveEvaluation(second, mark("small"));
  return { id: begun.id, all };
}

export const shelfCases: readonly ShelfCase[] = [
  {
    title: "what came is there at once, in the order of the examples, as it was given",
    async run(shelf) {
      const { id, all } = await beginCut(shelf);
      const kept = await keptOf(shelf, id);
      assert.deepEqual(
        kept.map(({ run }) => run),
        all.slice(0, 3),
      );
      const [first, , third] = kept;
      assert.deepEqual(first?.outcome, {
        output: toRaw({ of: all[0]?.runId }),
        metadata: toRaw({ ms: 1 }),
        error: null,
        isCancelled: false,
      });
      assert.deepEqual(
        [...(first?.evaluations.values() ?? [])],
        [
          mark("right", { label: "ok", explanation: "é", metadata: toRaw({ k: [1] }) }),
          mark("small", { score: null, error: "no" }),
        ],
      );
      assert.deepEqual([third?.outcome.error, third?.failureType], ["too slow", "task_timeout"]);
      assert.deepEqual([first?.startedAt, first?.durationMs], [1_700_000_000_000, 1500]);
    },
  },
  {
    title: "an experiment that did not end can be found and gone on with, by one at a time",
    async run(shelf) {
      const { id } = await beginCut(shelf);
      const record = await shelf.find(id);
      assert.deepEqual([record?.kind, record?.isFinished, record?.isHeld], ["experiment", false, false]);
      assert.equal(await shelf.find("nobody"), null);
      await using _output = await shelf.resume(id);
      assert.equal((await shelf.find(id))?.isHeld, true);
      await assert.rejects(shelf.resume(id), { code: "in_use" });
      await assert.rejects(shelf.rescore(id), { code: "in_use" });
    },
  },
  {
    title: "what has its output and what failed is counted, the last word of each run, and experiments are listed",
    async run(shelf) {
      const { id, all } = await beginCut(shelf);
      const { succeeded, failed } = await shelf.count(id);
      assert.deepEqual([succeeded, failed], [2, 1]);
      {
        await using output = await shelf.resume(id);
        for (const run of all.slice(2, 4)) {
          await output.findEarlier?.(run);
          await save(output, run);
        }
        await output.end(summary(id, { status: "cancelled", succeeded: 4, skipped: 2 }));
      }
      const after = await shelf.count(id);
      assert.deepEqual([after.succeeded, after.failed], [4, 0]);
      const other = await beginCut(shelf);
      const ids = (await Array.fromAsync(shelf.list())).map((record) => record.id);
      assert.ok(ids.includes(id) && ids.includes(other.id));
      assert.equal(new Set(ids).size, ids.length);
    },
  },
  {
    title: "what was said of the whole, how long it took and who scored it outlives a resume that is killed",
    async run(shelf) {
      const { id } = await beginCut(shelf);
      const scorings = [{ at: 1_700_000_000_000, file: "y.py", evaluators: ["new"], params: { k: 1 } }];
      const aggregates = [{ id: 0, aggregate: "best", score: 1, asOf: 1_600_000_000_000 }];
      {
        await using output = await shelf.resume(id);
        await output.end(summary(id, { scorings, aggregates, sessions: 2, averageScores: { right: 1, new: 0 } }));
      }
      await using _killed = await shelf.resume(id);
      const record = await shelf.find(id);
      assert.ok(record);
      const earlier = readEarlierSessions(record);
      assert.deepEqual([earlier.durationSec, earlier.sessions, earlier.scorings], [1.5, 2, scorings]);
      assert.deepEqual(earlier.evaluators, ["right", "small", "new"]);
      assert.deepEqual(
        earlier.aggregates.map(({ aggregate, score, asOf }) => [aggregate, score, asOf]),
        [["best", 1, 1_600_000_000_000]],
      );
      assert.equal(record.status, "running");
    },
  },
  {
    title: "an id is taken once",
    async run(shelf) {
      const begun = plan();
      await using _output = await shelf.begin(begun, examples);
      await assert.rejects(shelf.begin({ ...begun }, examples), (error: Error & { code?: string }) =>
        ["already_exists", "in_use"].includes(error.code ?? ""),
      );
    },
  },
  {
    title: "nothing that succeeded is done again, and all else is",
    async run(shelf) {
      const { id, all } = await beginCut(shelf);
      const [first, second, third, fourth] = all;
      assert.ok(first && second && third && fourth);
      {
        await using output = await shelf.resume(id);
        const find = async (run: PlannedRun): Promise<string[] | null> => {
          const earlier = (await output.findEarlier?.(run)) ?? null;
          return earlier && [...earlier.evaluations.keys()];
        };
        assert.deepEqual(await find(first), ["right"]);
        assert.deepEqual(await find(second), ["small"]);
        assert.equal(await find(third), null);
        assert.equal(await find(fourth), null);
        await save(output, third);
        await output.saveEvaluation(first, mark("small", { score: 1 }));
        await output.end(summary(id, { status: "cancelled", skipped: 3 }));
      }
      const kept = await keptOf(shelf, id);
      assert.deepEqual(
        kept.map(({ outcome, evaluations }) => [outcome.error, [...evaluations.values()].map(({ score }) => score)]),
        [
          [null, [0.5, 1]],
          [null, [0.5]],
          [null, []],
        ],
      );
      const record = await shelf.find(id);
      assert.deepEqual([record?.isFinished, record?.isHeld, record?.status], [false, false, "failed"]);
    },
  },
  {
    title: "evaluations made anew take the place of the same evaluator's, others stay, and the summary is the new one",
    async run(shelf) {
      const { id, all } = await beginCut(shelf);
      const [first] = all;
      assert.ok(first);
      for (const status of ["completed", "cancelled"] as const) {
        await using output = await shelf.rescore(id);
        await output.saveEvaluation(first, mark("right", { score: 0 }));
        await output.saveEvaluation(first, mark("new", { score: 1 }));
        await output.end(summary(id, { status, averageScores: { right: status === "completed" ? 0 : 1 } }));
      }
      const [kept] = await keptOf(shelf, id);
      const scores = Object.fromEntries([...(kept?.evaluations ?? [])].map(([name, { score }]) => [name, score]));
      assert.deepEqual(scores, { new: 1, right: 0, small: null });
      const record = await shelf.find(id);
      assert.ok(record !== null && typeof record.summary === "object");
      assert.deepEqual((record.summary as JsonObject | null)?.["average_scores"], { right: 0 });
      assert.equal(record.isHeld, false);
    },
  },
  {
    title: "an experiment that is whole is finished; one that broke says why",
    async run(shelf) {
      const [whole, broken] = [plan(), plan()];
      {
        await using output = await shelf.begin(whole, examples);
        for (const run of await runs()) await save(output, run);
        await output.end(summary(whole.id));
      }
      const record = await shelf.find(whole.id);
      assert.deepEqual(
        [record?.status, record?.isFinished, record?.succeeded, record?.total],
        ["completed", true, 6, 6],
      );
      assert.deepEqual([record?.identity["params"], record?.identity["dataHash"]], [{ model: "m" }, "the hash"]);
      {
        await using output = await shelf.begin(broken, examples);
        await output.end(summary(broken.id, { status: "failed", error: "it broke" }));
      }
      assert.deepEqual((await shelf.find(broken.id))?.error, "it broke");
    },
  },
];
