import { lstat, readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { systemCodeOf } from "../../base/rollout-error.ts";
import type { CopyReport } from "../../environments/environment.ts";
import type { Failure } from "./failure.ts";
import type { WitnessedReward } from "./reward-witness.ts";

export type RewardReading = { readonly reward: number } | { readonly failure: Failure };

/** A reading, and whether the file was changed after the tests had ended; what it held at that moment is what counts. */
export type JudgedReward = RewardReading & { readonly isChanged: boolean };

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** A number needs a few bytes; whatever is longer is not one and is not worth reading whole. */
export const longestRewardBytes = 4096;

/** The one finite number in plain decimal or exponent form that a reward file holds; undefined when it holds anything else. */
export function parseReward(text: string): number | undefined {
  const trimmed = text.trim();
  if (!decimal.test(trimmed)) return undefined;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : undefined;
}

/** Reads the reward from the collected logs of a verifier, trusting nothing about the file. */
export async function readReward(
  logsDir: string,
  report: CopyReport,
  witnessed: WitnessedReward | null,
): Promise<JudgedReward> {
  const found = await readRewardText(logsDir, report);
  if ("failure" in found) return { ...found, isChanged: false };
  const { text } = found;
  // Shells cannot hold a zero byte, and a witness speaks bytes.
  const seen = text === null ? null : Buffer.from(text.split("\0")[0] ?? "", "utf8").toString("latin1");
  if (witnessed === null || witnessed.text === seen) return { ...judge(text), isChanged: false };
  return { ...judge(witnessed.text), isChanged: true };
}

type FoundReward = { readonly text: string | null } | { readonly failure: Failure };

async function readRewardText(logsDir: string, report: CopyReport): Promise<FoundReward> {
  const folder = join(logsDir, "verifier");
  const path = join(folder, "reward.txt");
  const refused = report.refused.find((entry) => entry.path === "verifier/reward.txt");
  if (refused) return invalid(`/logs/verifier/reward.txt was not taken: ${refused.reason}`);
  try {
    const stat = await lstat(path);
    if (stat.isSymbolicLink()) {
      const target = await realpath(path);
      if (!target.startsWith(`${await realpath(folder)}${sep}`))
        return invalid("/logs/verifier/reward.txt is a link that leaves /logs/verifier");
    } else if (!stat.isFile()) return invalid("/logs/verifier/reward.txt is not a file");
    if (stat.size > longestRewardBytes)
      return invalid(`/logs/verifier/reward.txt has ${stat.size} bytes; expected one number`);
    return { text: await readFile(path, "utf8") };
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return { text: null };
    throw error;
  }
}

function judge(text: string | null): RewardReading {
  if (text === null) return missing();
  const reward = parseReward(text);
  return reward === undefined ? invalid(describeContent(text)) : { reward };
}

function describeContent(text: string): string {
  if (text.trim() === "") return "/logs/verifier/reward.txt is empty; expected one number";
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
  return `/logs/verifier/reward.txt holds ${shown}; expected one finite number such as 1, 0 or 0.5`;
}

function invalid(message: string): { readonly failure: Failure } {
  return { failure: { type: "verifier_reward_invalid", message, cause: null, detail: message } };
}

function missing(): { readonly failure: Failure } {
  const message = "the test script ended but wrote no /logs/verifier/reward.txt";
  return { failure: { type: "verifier_reward_missing", message, cause: null, detail: message } };
}
