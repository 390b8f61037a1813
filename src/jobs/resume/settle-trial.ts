import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { compareReward } from "../output/compare-reward.ts";
import { Comparison, type Difference } from "../output/comparison.ts";
import { trialPaths } from "../output/job-paths.ts";
import { readTrial } from "../output/read-job.ts";
import { isStaging } from "../output/trial-files.ts";
import type { TrialResultFile } from "../output/trial-result-schema.ts";
import type { Trial } from "../trial/trial.ts";

/** What an earlier session left of a trial. */
export interface SettledTrial {
  /** Null when it never came to a result. */
  readonly result: TrialResultFile | null;
  /** Where the result is missing or behind, because a crash came between the two. */
  readonly missingIn: "journal" | "file" | null;
  /** Where its files do not say what was recorded, and no crash explains that. */
  readonly edits: readonly Difference[];
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
  const file = names.includes("result.json") ? await readTrial(dir) : null;
  const comparison = new Comparison();
  const settled = (result: TrialResultFile | null, missingIn: SettledTrial["missingIn"]): SettledTrial => ({
    result,
    missingIn,
    edits: comparison.differences,
  });
  if (!recorded) {
    if (!file || !isOf(trial, file)) return settled(null, null);
    await compareReward(jobDir, trial.key, file, comparison);
    return settled(file, "journal");
  }
  if (!file) return settled(recorded, "file");
  if (isDeepStrictEqual(withoutEnd(file), withoutEnd(recorded))) {
    await compareReward(jobDir, trial.key, file, comparison);
    if (isDeepStrictEqual(file, recorded)) return settled(file, null);
    // The file is written first; only a crash of the whole machine can leave an older one, from before the teardown.
    if (file.teardown === null && recorded.teardown !== null) return settled(recorded, "file");
    if (file.teardown !== null && recorded.teardown === null) return settled(file, "journal");
  }
  comparison.compare(join(trial.key, "result.json"), "", file, recorded);
  return settled(recorded, null);
}

// All that giving the environment back may add.
function withoutEnd({ teardown: _teardown, error: _error, warnings: _warnings, ...rest }: TrialResultFile): object {
  return rest;
}

function isOf({ agent, datasetName, task, attempt }: Trial, result: TrialResultFile): boolean {
  return (
    result.agent_name === agent.name &&
    result.dataset_name === datasetName &&
    result.task_name === task.name &&
    result.attempt === attempt
  );
}
