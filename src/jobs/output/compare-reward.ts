import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseReward } from "../trial/reward.ts";
import type { Comparison } from "./comparison.ts";
import { trialPaths } from "./job-paths.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

/** Compares the reward that a trial's result.json has with the one that its tests wrote. */
export async function compareReward(
  jobDir: string,
  key: string,
  { reward }: TrialResultFile,
  comparison: Comparison,
): Promise<void> {
  if (reward === null) return;
  const { verifierLogs } = trialPaths(jobDir, key);
  const text = await readFile(join(verifierLogs, "reward.txt"), "utf8").catch(() => "");
  comparison.compare(join(key, "result.json"), "reward", reward, parseReward(text) ?? null);
}
