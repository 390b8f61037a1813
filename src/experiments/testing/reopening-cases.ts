import assert from "node:assert/strict";
import { durationSecOf } from "../../store/run.ts";
import { readEarlierSessions } from "../output/earlier-sessions.ts";
import type { StoredExample } from "../output/experiment-output.ts";
import { toEarlierRun } from "../output/experiment-repository.ts";
import type { PlannedRun } from "../run/example.ts";
import {
  beginComplete,
  beginPart,
  failedSmall,
  find,
  right,
  scoresOf,
  storedOf,
  type RepositoryCase,
} from "./repository-case.ts";
import { endSample, sampleAnswer, sampleEvaluation, saveEvaluations, startedAt } from "./sample-experiment.ts";

/** Resuming. */
export const resumeCases: readonly RepositoryCase[] = [
  {
    title: "aggregates, sessions and later scorings survive a resumed session that is killed",
    async run(repository) {
      const { id } = await beginPart(repository);
      const scorings = [{ at: startedAt, file: "y.py", evaluators: ["new"], params: { k: 1 } }];
      const aggregates = [{ id: 0, aggregate: "best", score: 1, asOf: 1_600_000_000_000 }];
      const session = { startedAt, endedAt: startedAt + 1500, durationSec: 1.5 };
      {
        await using output = await repository.resume(id);
        const sessions = [session, session];
        await endSample(output, { scorings, aggregates, sessions, averageScores: { right: 1, new: 0 } });
      }
      {
        await using _killed = await repository.resume(id);
        assert.equal((await find(repository, id)).status, "running");
      }
      const run = await find(repository, id);
      assert.deepEqual([durationSecOf(run), run.sessions], [3, [session, session]]);
      const earlier = readEarlierSessions(run);
      assert.deepEqual(earlier.scorings, scorings);
      assert.deepEqual(earlier.evaluators, ["right", "small", "new"]);
      assert.deepEqual(
        earlier.aggregates.map(({ aggregate, score, asOf }) => [aggregate, score, asOf]),
        [["best", 1, 1_600_000_000_000]],
      );
    },
  },
  {
    title: "nothing that succeeded is done again, and everything else is",
    async run(repository) {
      const { id, runs } = await beginPart(repository);
      const [first, second, third, fourth] = runs;
      assert.ok(fourth);
      {
        await using output = await repository.resume(id);
        const findKnown = async (run: PlannedRun): Promise<string[] | null> => {
          const stored = (await output.findStored?.(run)) ?? null;
          const earlier = stored && toEarlierRun(stored);
          return earlier && [...earlier.evaluations.keys()];
        };
        assert.deepEqual(await findKnown(first), ["right"]);
        assert.deepEqual(await findKnown(second), ["small"]);
        assert.equal(await findKnown(third), null);
        assert.equal(await findKnown(fourth), null);
        await output.saveTask(sampleAnswer(third));
        const small = sampleEvaluation("small", { score: 1 });
        await saveEvaluations(output, first, [small], { earlier: [right, failedSmall] });
        await endSample(output, { status: "cancelled", skipped: 3 });
      }
      const stored = await storedOf(repository, id);
      assert.deepEqual(
        stored.map((one) => [one.outcome.error, scoresOf(one)]),
        [
          [null, { right: 0.5, small: 1 }],
          [null, { small: 0.5 }],
          [null, {}],
        ],
      );
      const { status, isResumable, owner } = await find(repository, id);
      assert.deepEqual([status, isResumable, owner], ["cancelled", true, null]);
    },
  },
  {
    title: "a failed result stays until the run has a new one, and its evaluations do not count for that one",
    async run(repository) {
      const { id, runs } = await beginPart(repository);
      const [, , third] = runs;
      {
        await using output = await repository.rescore(id);
        await saveEvaluations(output, third, [right, sampleEvaluation("new")], { error: "too slow" });
      }
      const findThird = async (): Promise<StoredExample> => {
        await using output = await repository.resume(id);
        const stored = await output.findStored?.(third);
        assert.ok(stored);
        return stored;
      };
      // A session that ends before the run is done again changes nothing.
      for (let session = 0; session < 2; session++) {
        const { outcome, evaluations } = await findThird();
        assert.deepEqual([outcome.error, [...evaluations.keys()]], ["too slow", ["right", "new"]]);
      }
      {
        await using output = await repository.resume(id);
        await output.findStored?.(third);
        await output.saveTask(sampleAnswer(third));
        await endSample(output, { status: "cancelled", skipped: 3 });
      }
      const again = toEarlierRun(await findThird());
      assert.deepEqual([again?.outcome.error, again?.evaluations.size], [null, 0]);
    },
  },
];

/** Scoring outputs of an earlier session. */
export const scoringCases: readonly RepositoryCase[] = [
  {
    title: "new evaluations replace those of the same evaluator, others stay, and a completed scoring is summarized",
    async run(repository) {
      const { id, runs } = await beginPart(repository);
      const [first] = runs;
      for (const status of ["completed", "cancelled"] as const) {
        await using output = await repository.rescore(id);
        assert.equal(output.findStored, null);
        const outcomes = [sampleEvaluation("right", { score: 0 }), sampleEvaluation("new", { score: 1 })];
        await saveEvaluations(output, first, outcomes, { earlier: [right, failedSmall] });
        await endSample(output, { status, averageScores: { right: status === "completed" ? 0 : 1 } });
      }
      const [stored] = await storedOf(repository, id);
      assert.deepEqual(scoresOf(stored), { right: 0, small: null, new: 1 });
      const { details, owner } = await find(repository, id);
      assert.deepEqual([details["average_scores"], owner], [{ right: 0 }, null]);
    },
  },
  {
    title: "a scoring that does not complete leaves the run as it was, during the scoring and after it",
    async run(repository) {
      const id = await beginComplete(repository);
      const before = await find(repository, id);
      for (const end of [null, { status: "cancelled" }, { status: "failed", error: "it broke" }] as const) {
        await using output = await repository.rescore(id);
        assert.deepEqual({ ...output.run, owner: null }, before);
        await output.update({ ...output.run, status: "running", counts: { ...before.counts, finished: 0 } });
        const during = await find(repository, id);
        assert.deepEqual(during, { ...before, owner: output.run.owner });
        if (end !== null) await endSample(output, end);
        await output[Symbol.asyncDispose]();
        assert.deepEqual(await find(repository, id), before);
      }
    },
  },
];
