import { readFile } from "node:fs/promises";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { planOfJournal, readJobJournal, type JobStartedLine } from "./job-journal.ts";
import { jobPaths } from "./job-paths.ts";
import type { JobResultFile } from "./job-result-schema.ts";
import { JobTally } from "./job-tally.ts";
import { keyOf, type PlannedTrial } from "./planned-trial.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

/** A job as its directory tells it, at any instant: running, finished, or left by a process that died. */
export interface JobRecord {
  readonly dir: string;
  readonly started: JobStartedLine;
  /** False while it runs, and when its process died. */
  readonly hasEnded: boolean;
  readonly plan: readonly PlannedTrial[];
  /** In plan order. */
  readonly trials: readonly TrialResultFile[];
  readonly result: JobResultFile;
}

/** Reads a job directory from its journal, which is right even when result.json is behind or missing. */
export async function readJob(dir: string): Promise<JobRecord> {
  const journal = await readJobJournal(jobPaths(dir).journal).catch((error: unknown) => {
    if (systemCodeOf(error) !== "ENOENT" && systemCodeOf(error) !== "ENOTDIR") throw error;
    throw new RolloutError("not_found", `${dir} is not a job directory: it has no .rollout/journal.jsonl`, {
      hint: "name the directory that a job made, as in jobs/my-job",
    });
  });
  const { started, ended, finished } = journal;
  if (!started) throw new RolloutError("not_found", `${dir}: its journal has no beginning, so the job never started`);
  const plan = planOfJournal(started);
  const tally = new JobTally(plan, started.metrics, started.has_verifier);
  const trials = plan.flatMap((trial, index) => {
    const result = finished.get(keyOf(trial));
    if (result) tally.add(index, result);
    return result ?? [];
  });
  tally.skip(ended?.skipped ?? []);
  const result = tally.result({
    jobName: started.job_name,
    sessions: journal.sessions,
    isCancelled: ended?.cancelled ?? false,
    isStoppedByBudget: ended?.stopped_by_budget ?? false,
    warnings: ended?.warnings ?? started.warnings,
  });
  return { dir, started, hasEnded: ended !== null, plan, trials, result };
}

/** Reads the result of one trial directory; null when it holds none. */
export async function readTrial(dir: string): Promise<TrialResultFile | null> {
  try {
    const value = JSON.parse(await readFile(`${dir}/result.json`, "utf8")) as Partial<TrialResultFile>;
    return value.task_name !== undefined && value.timestamps !== undefined ? (value as TrialResultFile) : null;
  } catch {
    return null;
  }
}
