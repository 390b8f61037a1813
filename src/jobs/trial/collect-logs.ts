import { existsSync, mkdirSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type { CopyReport, Environment } from "../../environments/environment.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import type { TrialPaths } from "../output/job-paths.ts";
import { collectLimitMs } from "./limits.ts";
import { redactTree } from "./redact-tree.ts";
import type { TrialContext } from "./trial-context.ts";

// Names in the verifier's folder that are ours; what a test script calls the same is kept beside them.
const captured = ["stdout.txt", "stderr.txt"];

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
): Promise<CopyReport> {
  const { context, paths, warn } = state;
  const target = join(paths.logs, part);
  mkdirSync(target, { recursive: true });
  const copied = await copyLogs(context, environment, part, target);
  // What we captured is redacted already, and the reward is evidence that is left as it was written.
  const exempt = ["reward.txt", ...captured].map((name) => join(paths.verifierLogs, name));
  await redactTree(target, context.redactor, new Set(exempt));
  const refused = copied.refused.map((entry) => ({ ...entry, path: join(part, entry.path) }));
  for (const { path, reason } of refused) warn(`${join("/logs", path)} was not copied: ${reason}`);
  return { ...copied, refused };
}

async function copyLogs(
  context: TrialContext,
  environment: Environment,
  part: "" | "verifier",
  target: string,
): Promise<CopyReport> {
  // Not the signal that ended the trial: what its environment holds is wanted most when something went wrong.
  const { clock, forceSignal: parent } = context;
  const limit = { clock, limitMs: collectLimitMs, parent, what: "copying /logs", graceMs: 1000 };
  const folder = part === "verifier" ? "" : "verifier";
  const renames = Object.fromEntries(
    captured.map((name) => [join(folder, name), join(folder, name.replace(".txt", ".container.txt"))]),
  );
  try {
    return await withDeadline(limit, (signal) =>
      environment.copyFrom({ source: join("/logs", part), target, renames, signal }),
    );
  } catch (error) {
    if (!(error instanceof RolloutError && error.code === "not_found")) throw error;
    return { files: 0, bytes: 0, refused: [{ path: "", reason: "it is not there" }] };
  }
}

const usageKeys = ["cost_usd", "input_tokens", "output_tokens"];

export interface AgentUsage {
  readonly costUsd: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

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
      if (typeof found === "number" && Number.isFinite(found) && found >= 0) return found;
      if (found !== undefined && found !== null) warn(`/logs/agent/usage.json: ${key} is not a number of at least 0`);
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
