import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { parseReward } from "../trial/reward.ts";
import { planOfJournal, readJobJournal, type JournalRecord } from "./job-journal.ts";
import { jobPaths, trialPaths } from "./job-paths.ts";
import { JobTally } from "./job-tally.ts";
import { keyOf, type PlannedTrial } from "./planned-trial.ts";
import { readTrial } from "./read-job.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

/** Something that a job directory says in two ways. */
export interface Difference {
  /** Below the job directory. */
  readonly file: string;
  /** `agents.oracle.pass_rate`; empty when it is about the whole file. */
  readonly field: string;
  readonly recorded: unknown;
  readonly recomputed: unknown;
}

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
    sittings: journal.sittings,
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
  if (result.reward !== null) {
    const text = await readFile(join(paths.verifierLogs, "reward.txt"), "utf8").catch(() => "");
    comparison.compare(join(key, "result.json"), "reward", result.reward, parseReward(text) ?? null);
  }
  return result;
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as unknown;
  } catch {
    return null;
  }
}

/** Walks through two values side by side and remembers where they part. */
class Comparison {
  readonly differences: Difference[] = [];
  compared = 0;

  compare(file: string, field: string, recorded: unknown, recomputed: unknown): void {
    if (isTable(recorded) && isTable(recomputed)) {
      for (const key of new Set([...Object.keys(recorded), ...Object.keys(recomputed)]))
        this.compare(file, field === "" ? key : `${field}.${key}`, recorded[key], recomputed[key]);
      return;
    }
    if (Array.isArray(recorded) && Array.isArray(recomputed) && recorded.length === recomputed.length) {
      for (const [index, part] of recorded.entries())
        this.compare(file, `${field}[${index}]`, part, (recomputed as unknown[])[index]);
      return;
    }
    this.compared++;
    if (!isDeepStrictEqual(recorded, recomputed)) this.differences.push({ file, field, recorded, recomputed });
  }
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
