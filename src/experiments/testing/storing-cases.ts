import assert from "node:assert/strict";
import { toRaw } from "../../base/raw-json.ts";
import { readPlan } from "../output/plan-experiment.ts";
import {
  beginComplete,
  beginPart,
  failedSmall,
  find,
  right,
  storedOf,
  type RepositoryCase,
} from "./repository-case.ts";
import { endSample, sampleAnswer, sampleExamples, sampleExperiment, startedAt } from "./sample-experiment.ts";

/** Storing, counting and ending. */
export const storingCases: readonly RepositoryCase[] = [
  {
    title: "returns results at once, in the order of the examples, as they were given",
    async run(repository) {
      const { id, runs } = await beginPart(repository);
      const stored = await storedOf(repository, id);
      assert.deepEqual(
        stored.map(({ run }) => run),
        runs.slice(0, 3),
      );
      const [first, , third] = stored;
      assert.deepEqual(first?.outcome, {
        output: toRaw({ of: runs[0].runId }),
        metadata: toRaw({ ms: 1 }),
        error: null,
        isCancelled: false,
      });
      assert.deepEqual([...first.evaluations.values()], [right, failedSmall]);
      assert.deepEqual([third?.outcome.error, third?.failureType], ["too slow", "task_timeout"]);
      assert.deepEqual([first.startedAt, first.durationMs], [startedAt, 1500]);
    },
  },
  {
    title: "an experiment that did not end is interrupted, and one process at a time can resume it",
    async run(repository) {
      const { id } = await beginPart(repository);
      const { kind, status, isResumable, owner } = await find(repository, id);
      assert.deepEqual([kind, status, isResumable, owner], ["experiment", "interrupted", true, null]);
      await using output = await repository.resume(id);
      const resumed = await find(repository, id);
      assert.deepEqual([resumed.status, resumed.owner], ["running", output.run.owner]);
      assert.notEqual(resumed.owner, null);
      await assert.rejects(repository.resume(id), { code: "in_use" });
      await assert.rejects(repository.rescore(id), { code: "in_use" });
    },
  },
  {
    title: "an unknown id is not found, and looking for it creates nothing",
    async run(repository) {
      assert.equal(await repository.find("unknown"), null);
      for (const call of [
        () => repository.resume("unknown"),
        () => repository.rescore("unknown"),
        () => repository.count("unknown"),
        () => storedOf(repository, "unknown"),
      ])
        await assert.rejects(call, { code: "not_found" });
      assert.equal(await repository.find("unknown"), null);
    },
  },
  {
    title: "counts outputs and failed tasks by the last result of each run",
    async run(repository) {
      const { id, runs } = await beginPart(repository);
      assert.deepEqual(await repository.count(id), { succeeded: 2, failed: 1 });
      {
        await using output = await repository.resume(id);
        for (const run of runs.slice(2, 4)) {
          await output.findStored?.(run);
          await output.saveTask(sampleAnswer(run));
        }
        await endSample(output, { status: "cancelled", succeeded: 4, skipped: 2 });
      }
      assert.deepEqual(await repository.count(id), { succeeded: 4, failed: 0 });
    },
  },
  {
    title: "an id is taken once",
    async run(repository) {
      const experiment = sampleExperiment();
      {
        await using _output = await repository.begin(experiment, sampleExamples);
        await assert.rejects(repository.begin({ ...experiment }, sampleExamples), (error: Error & { code?: string }) =>
          ["already_exists", "in_use"].includes(error.code ?? ""),
        );
      }
      await assert.rejects(repository.begin({ ...experiment }, sampleExamples), { code: "already_exists" });
    },
  },
  {
    title: "a complete experiment has nothing left to resume",
    async run(repository) {
      const run = await find(repository, await beginComplete(repository));
      assert.deepEqual(
        [run.status, run.isResumable, run.owner, run.counts.completed, run.plan.total, run.error],
        ["completed", false, null, 6, 6, null],
      );
      const { params, dataHash } = readPlan(run);
      assert.deepEqual([params, dataHash], [{ model: "m" }, "the hash"]);
    },
  },
  {
    title: "an experiment that an error ended says why, until it is resumed",
    async run(repository) {
      const experiment = sampleExperiment();
      {
        await using output = await repository.begin(experiment, sampleExamples);
        await endSample(output, { status: "failed", error: "it broke" });
      }
      const { status, error, isResumable } = await find(repository, experiment.id);
      assert.deepEqual([status, error, isResumable], ["failed", "it broke", true]);
      {
        await using output = await repository.resume(experiment.id);
        await output.update({ ...output.run, status: "running", error: null });
        assert.equal((await find(repository, experiment.id)).error, null);
        await endSample(output);
      }
      assert.equal((await find(repository, experiment.id)).error, null);
    },
  },
];
