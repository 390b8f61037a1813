import { lstat, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type { CopyReport, Environment } from "../../environments/environment.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import type { TrialPaths } from "../output/job-paths.ts";
import { collectLimitMs } from "./limits.ts";
import { redactTree } from "./redact-tree.ts";
import type { TrialContext } from "./trial-context.ts";

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
  const { paths, warn } = state;
  const { redactor } = state.context;
  const incoming = `${paths.logs}.incoming`;
  const target = join(paths.logs, part);
  await rm(incoming, { recursive: true, force: true });
  const copied = await copyLogs(state.context, environment, join("/logs", part), incoming);
  // Whatever ran inside may have put anything in the place of our folders.
  if (!(await isDirectory(incoming))) {
    await rm(incoming, { force: true });
    await mkdir(incoming);
    copied.refused.push({ path: "", reason: "it is no directory" });
  }
  // The reward is evidence and is left as it was written.
  await redactTree(incoming, redactor, join(incoming, part === "verifier" ? "" : "verifier", "reward.txt"));
  await mergeCaptured(paths, part === "verifier" ? incoming : join(incoming, "verifier"));
  await mkdir(dirname(target), { recursive: true });
  await rm(target, { recursive: true, force: true });
  await rename(incoming, target);
  const refused = copied.refused.map((entry) => ({ ...entry, path: join(part, entry.path) }));
  for (const { path, reason } of refused) warn(`${join("/logs", path)} was not copied: ${reason}`);
  return { ...copied, refused };
}

async function copyLogs(
  context: TrialContext,
  environment: Environment,
  source: string,
  target: string,
): Promise<{ files: number; bytes: number; refused: { path: string; reason: string }[] }> {
  // Not the signal that ended the trial: what its environment holds is wanted most when something went wrong.
  const { clock, forceSignal: parent } = context;
  const limit = { clock, limitMs: collectLimitMs, parent, what: "copying /logs", graceMs: 1000 };
  try {
    const report = await withDeadline(limit, (signal) => environment.copyFrom({ source, target, signal }));
    return { ...report, refused: [...report.refused] };
  } catch (error) {
    if (!(error instanceof RolloutError && error.code === "not_found")) throw error;
    return { files: 0, bytes: 0, refused: [] };
  }
}

async function mergeCaptured(paths: TrialPaths, target: string): Promise<void> {
  for (const name of captured) {
    const ours = join(paths.verifierLogs, name);
    if (!(await exists(ours))) continue;
    if ((await exists(target)) && !(await isDirectory(target))) await rename(target, `${target}.container`);
    await mkdir(target, { recursive: true });
    const theirs = join(target, name);
    if (await exists(theirs)) await rename(theirs, join(target, name.replace(".txt", ".container.txt")));
    await rename(ours, theirs);
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

async function isDirectory(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

export interface AgentUsage {
  readonly costUsd: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

/** What an agent says it used, in `/logs/agent/usage.json`; null when it says nothing. */
export async function readAgentUsage(paths: TrialPaths, warn: (message: string) => void): Promise<AgentUsage | null> {
  const path = join(paths.logs, "agent", "usage.json");
  try {
    const { size } = await stat(path);
    if (size > 1 << 20) throw new Error(`${size} bytes are too many`);
    const value = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown> | null;
    const amount = (key: string): number | null => {
      const found = value?.[key];
      return typeof found === "number" && Number.isFinite(found) && found >= 0 ? found : null;
    };
    return { costUsd: amount("cost_usd"), inputTokens: amount("input_tokens"), outputTokens: amount("output_tokens") };
  } catch (error) {
    if (await exists(path)) warn(`/logs/agent/usage.json could not be read: ${messageOf(error)}`);
    return null;
  }
}
