import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { trialPaths } from "../output/job-paths.ts";
import { readTrial } from "../output/read-job.ts";
import { isStaging } from "../output/trial-files.ts";
import type { TrialResultFile } from "../output/trial-result-schema.ts";
import type { Trial } from "../trial/trial.ts";

/** What an earlier sitting left of a trial. */
export interface SettledTrial {
  /** Null when it never came to a result. */
  readonly result: TrialResultFile | null;
  /** Where the result is missing or behind, because a crash came between the two. */
  readonly missingIn: "journal" | "file" | null;
}

/** Brings together what the journal and the trial's own folder say, and clears away halves of files. */
export async function settleTrial(
  jobDir: string,
  trial: Trial,
  recorded: TrialResultFile | null,
): Promise<SettledTrial> {
  const { dir } = trialPaths(jobDir, trial.key);
  const names: readonly string[] = await readdir(dir).catch(() => []);
  for (const name of names.filter(isStaging)) await rm(join(dir, name), { force: true });
  const found = names.includes("result.json") ? await readTrial(dir) : null;
  const file = found && isOf(trial, found) ? found : null;
  if (!file || !recorded) return { result: file ?? recorded, missingIn: file ? "journal" : recorded ? "file" : null };
  if (isDeepStrictEqual(file, recorded)) return { result: file, missingIn: null };
  // The file is written first; only a crash of the whole machine can leave an older one, from before the teardown.
  const isOlder = file.trial_id === recorded.trial_id && file.teardown === null && recorded.teardown !== null;
  return isOlder ? { result: recorded, missingIn: "file" } : { result: file, missingIn: "journal" };
}

function isOf({ agent, datasetName, task, attempt }: Trial, result: TrialResultFile): boolean {
  return (
    result.agent_name === agent.name &&
    result.dataset_name === datasetName &&
    result.task_name === task.name &&
    result.attempt === attempt
  );
}
