import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { compareReward } from "./compare-reward.ts";
import { Comparison, type Difference } from "./comparison.ts";
import { planOfJournal, readJobJournal, type JournalRecord } from "./job-journal.ts";
import { jobPaths, trialPaths } from "./job-paths.ts";
import { JobTally } from "./job-tally.ts";
import { keyOf, type PlannedTrial } from "./planned-trial.ts";
import { readTrial } from "./read-job.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

export interface Verification {
  readonly hasEnded: boolean;
  readonly trials: number;
  /** Numbers, texts and lists that were compared. */
  readonly compared: number;
  readonly differences: readonly Difference[];
}

/** Makes every aggregate of a job anew from its trials' own files, and names each one that is recorded otherwise. */
export async function verifyJob(dir: string): Promise<Verification> {
  const paths = jobPaths(dir);
  const journal = await readJobJournal(paths.journal).catch((error: unknown) => {
    if (systemCodeOf(error) !== "ENOENT" && systemCodeOf(error) !== "ENOTDIR") throw error;
    return null;
  });
  if (!journal?.started) throw new RolloutError("not_found", `${dir} is not a job directory, or its job never started`);
  const { started, ended } = journal;
  const comparison = new Comparison();
  const plan = planOfJournal(started);
  const tally = new JobTally(plan, started.metrics, started.has_verifier);
  const skipped: number[] = [];
  for (const [index, trial] of plan.entries()) {
    const result = await checkTrial(dir, trial, journal, comparison);
    if (result) tally.add(index, result);
    else skipped.push(index);
  }
  if (ended) tally.skip(skipped);
  const recomputed = tally.result({
    jobName: started.job_name,
    sessions: journal.sessions,
    isCancelled: ended?.cancelled ?? false,
    isStoppedByBudget: ended?.stopped_by_budget ?? false,
    warnings: ended?.warnings ?? [],
  });
  comparison.compare("result.json", "", await readJson(paths.result), JSON.parse(JSON.stringify(recomputed)));
  const { compared, differences } = comparison;
  return { hasEnded: ended !== null, trials: plan.length - skipped.length, compared, differences };
}

async function checkTrial(
  dir: string,
  trial: PlannedTrial,
  { finished }: JournalRecord,
  comparison: Comparison,
): Promise<TrialResultFile | null> {
  const key = keyOf(trial);
  const paths = trialPaths(dir, key);
  const result = await readTrial(paths.dir);
  const journalled = finished.get(key) ?? null;
  if (!result) {
    if (journalled) comparison.compare(join(key, "result.json"), "", null, journalled);
    return null;
  }
  comparison.compare(".rollout/journal.jsonl", key, journalled, result);
  const names = { agent_name: trial.agentName, dataset_name: trial.datasetName, task_name: trial.taskName };
  for (const [field, name] of Object.entries({ ...names, attempt: trial.attempt }))
    comparison.compare(join(key, "result.json"), field, result[field as keyof TrialResultFile], name);
  await compareReward(dir, key, result, comparison);
  return result;
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as unknown;
  } catch {
    return null;
  }
}
