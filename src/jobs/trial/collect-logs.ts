import { existsSync, lstatSync, mkdirSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { noSecrets, type Redactor } from "../../base/redactor.ts";
import { messageOf } from "../../base/rollout-error.ts";
import type { CopyReport, Environment } from "../../environments/environment.ts";
import type { TrialPaths } from "../output/job-paths.ts";
import { capturedNames, copyLogs } from "./copy-logs.ts";
import { collectLimitMs } from "./limits.ts";
import { redactFile, redactTree } from "./redact-tree.ts";
import { longestRewardBytes, parseReward } from "./reward.ts";
import type { TrialContext } from "./trial-context.ts";

/** What the collecting of a try's logs needs of it. */
export interface LogCollection {
  readonly context: TrialContext;
  readonly paths: TrialPaths;
  readonly warn: (message: string) => void;
}

/**
 * Copies the environment's `/logs` (or only the verifier's part) into the trial's folder, beside the verifier output
 * we captured ourselves, and warns of what was refused. The report's paths are relative to `/logs`.
 */
export async function collectLogs(
  state: LogCollection,
  environment: Environment,
  part: "" | "verifier",
  limitMs: number = collectLimitMs,
): Promise<CopyReport> {
  const { context, paths, warn } = state;
  const target = join(paths.logs, part);
  mkdirSync(target, { recursive: true });
  const report = await copyLogs(context, environment, part, paths.logs, limitMs);
  // What we captured is redacted already, and the reward is read as it was written.
  const exempt = ["reward.txt", ...capturedNames].map((name) => join(paths.verifierLogs, name));
  await redactTree(target, context.redactor, new Set(exempt));
  for (const { path, reason } of report.refused) warn(`${join("/logs", path)} was not copied: ${reason}`);
  return report;
}

/** Takes secrets out of a reward.txt that holds no reward; only to be called when nobody will read it any more. */
export async function redactReward({ verifierLogs }: TrialPaths, redactor: Redactor): Promise<void> {
  const path = join(verifierLogs, "reward.txt");
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (redactor === noSecrets || !stats?.isFile()) return;
  const isReward = stats.size <= longestRewardBytes && parseReward(await readFile(path, "utf8")) !== undefined;
  if (!isReward) await redactFile(path, verifierLogs, redactor);
}

const usageKeys = ["cost_usd", "input_tokens", "output_tokens"];

export interface AgentUsage {
  readonly costUsd: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

// More than anybody uses, and little enough that the sum over any job is still a number.
const mostUsed = 1e15;

/** What an agent says it used, in `/logs/agent/usage.json`; null when it says nothing. */
export async function readAgentUsage(paths: TrialPaths, warn: (message: string) => void): Promise<AgentUsage | null> {
  const path = join(paths.logs, "agent", "usage.json");
  if (!existsSync(path)) return null;
  try {
    const { size } = await stat(path);
    if (size > 1 << 20) throw new Error(`${size} bytes are too many`);
    const value = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown> | null;
    const amount = (key: string): number | null => {
      const found = value?.[key];
      if (typeof found === "number" && found >= 0 && found <= mostUsed) return found;
      if (found !== undefined && found !== null) warn(`/logs/agent/usage.json: ${key} is not a number from 0 to 1e15`);
      return null;
    };
    if (!usageKeys.some((key) => value !== null && typeof value === "object" && key in value)) {
      warn(`/logs/agent/usage.json has none of ${usageKeys.join(", ")}`);
    }
    return { costUsd: amount("cost_usd"), inputTokens: amount("input_tokens"), outputTokens: amount("output_tokens") };
  } catch (error) {
    warn(`/logs/agent/usage.json could not be read: ${messageOf(error)}`);
    return null;
  }
}
