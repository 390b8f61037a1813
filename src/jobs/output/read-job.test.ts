import { cpSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Act } from "../testing/acts.ts";
import { runJobOnRig, startJob } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { readJob, readTrial, type JobRecord } from "./read-job.ts";

const tasks = { one: {}, two: {}, three: {} };

describe("a job directory", () => {
  test("R34: it is read whole after the end, the same as result.json says", async () => {
    const job = await runJobOnRig({ tasks, script: { execute: ({ key }) => (key.includes("two") ? 1 : 0) } });
    const record = await readJob(job.run.dir);
    expect(record.result).toEqual(job.result);
    expect(record.hasEnded).toBe(true);
    expect(record.trials.map(({ task_name }) => task_name)).toEqual(["one", "three", "two"]);
    expect(record.plan).toHaveLength(3);
    for (const trial of record.trials) {
      const onDisk = await readTrial(join(job.run.dir, `a/set/${trial.task_name}__1`));
      expect(onDisk).toEqual(trial);
    }
  });

  test("R34: it can be read at any instant of the job's life", async () => {
    const records: JobRecord[] = [];
    const look: Act = async () => {
      records.push(await readJob(job.jobDir));
      return 0;
    };
    const job = startJob({
      tasks,
      config: { n_concurrent_trials: 1 },
      script: { execute: look },
      faults: async ({ operation }) => {
        if (operation === "destroy") records.push(await readJob(job.jobDir));
      },
    });
    await job.finished;
    expect(records.map(({ trials }) => trials.length)).toEqual([0, 1, 1, 2, 2, 3]);
    expect(records.every(({ hasEnded, result }) => !hasEnded && result.ended_at === null && !result.cancelled)).toBe(
      true,
    );
    expect(records.map(({ result }) => result.total_trials)).toEqual([3, 3, 3, 3, 3, 3]);
    expect(records.at(-1)?.result).toMatchObject({ completed_trials: 3, pass_rate: 1 });
  });

  test("R34: a journal whose last line a crash cut anywhere says everything that came before it", async () => {
    const job = await runJobOnRig({ tasks });
    const journal = readFileSync(join(job.run.dir, ".rollout/journal.jsonl"));
    const lines = journal.toString().trimEnd().split("\n");
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type);
    expect([types[0], types.at(-1)]).toEqual(["job_started", "job_ended"]);
    expect(types.filter((type) => type === "trial_finished")).toHaveLength(3);
    expect(types.filter((type) => type === "trial_torn_down")).toHaveLength(3);
    const copy = join(makeRoot(), "copy");
    cpSync(job.run.dir, copy, { recursive: true });
    const path = join(copy, ".rollout/journal.jsonl");
    const before = journal.length - Buffer.byteLength(`${lines.at(-1)}\n`);
    // The last byte is the line's end, which nobody misses.
    for (let size = journal.length; size >= before; size--) {
      truncateSync(path, size);
      const record = await readJob(copy);
      expect(record.hasEnded).toBe(size >= journal.length - 1);
      expect(record.result).toMatchObject({ completed_trials: 3, mean_reward: 1, skipped_trials: 0 });
    }
    const lastFinished = types.lastIndexOf("trial_finished");
    truncateSync(path, Buffer.byteLength(lines.slice(0, lastFinished + 1).join("\n")) - 10);
    expect((await readJob(copy)).result).toMatchObject({ total_trials: 3, completed_trials: 2 });
  });

  test("R32: trials that were skipped are known from the journal alone", async () => {
    const job = startJob({
      tasks,
      config: { n_concurrent_trials: 1 },
      onEvent: (event) => void (event.type === "unit_finished" && job.cancel()),
    });
    const { result } = await job.finished;
    expect((await readJob(job.jobDir)).result).toEqual(result);
    expect(result).toMatchObject({ cancelled: true, completed_trials: 1, skipped_trials: 2 });
  });

  test("what is no job directory is told so", async () => {
    await expect(readJob(makeRoot())).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("is not a job directory"),
    });
    expect(await readTrial(makeRoot())).toBeNull();
  });
});
