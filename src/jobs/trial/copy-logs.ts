import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import type { CopyFromRequest, CopyReport, Environment } from "../../environments/environment.ts";
import { mostLogEntries } from "./limits.ts";
import type { TrialContext } from "./trial-context.ts";

/** Names in the verifier's folder that are ours; what a test script calls the same is kept beside them. */
export const capturedNames = ["stdout.txt", "stderr.txt"];

const reward = "verifier/reward.txt";
// Whatever is longer is no number.
const mostRewardBytes = 1 << 16;

/**
 * Copies `/logs` (or only the verifier's part) of an environment into a folder of logs, up to the job's limits. However
 * much lies there, the verifier's part and above all its reward are not what is left out for that. The report's paths
 * are relative to `/logs`.
 */
export async function copyLogs(
  context: TrialContext,
  environment: Environment,
  part: "" | "verifier",
  logsDir: string,
  limitMs: number,
): Promise<CopyReport> {
  const limits = { entries: mostLogEntries, bytes: context.job.logsLimitBytes };
  const copy = (path: string, request: Pick<CopyFromRequest, "limits" | "renames">): Promise<CopyReport> =>
    copyPart(context, environment, path, limitMs, { ...request, target: join(logsDir, path) });
  let report = await copy(part, { limits, renames: renamesBelow(part === "" ? "verifier" : "") });
  if (report.isCut && part === "") {
    mkdirSync(join(logsDir, "verifier"), { recursive: true });
    report = joinReports(report, await copy("verifier", { limits, renames: renamesBelow("") }), "verifier");
  }
  if (report.isCut) {
    const last = await copy(reward, { limits: { entries: 1, bytes: mostRewardBytes } });
    report = joinReports(report, last, reward);
  }
  return report;
}

async function copyPart(
  { clock, forceSignal: parent }: TrialContext,
  environment: Environment,
  path: string,
  limitMs: number,
  request: Omit<CopyFromRequest, "source" | "signal">,
): Promise<CopyReport> {
  // Not the signal that ended the trial: what its environment holds is wanted most when something went wrong.
  const limit = { clock, limitMs, parent, what: "copying /logs", graceMs: 1000 };
  try {
    const report = await withDeadline(limit, (signal) =>
      environment.copyFrom({ source: join("/logs", path), ...request, signal }),
    );
    return { ...report, refused: report.refused.map((entry) => ({ ...entry, path: join(path, entry.path) })) };
  } catch (error) {
    if (!(error instanceof RolloutError && error.code === "not_found")) throw error;
    // That there is no reward is for its reader to tell.
    return { files: 0, bytes: 0, refused: path === reward ? [] : [{ path, reason: "it is not there" }] };
  }
}

// What the first could not say about a path, because it never came there, the second can.
function joinReports(first: CopyReport, second: CopyReport, path: string): CopyReport {
  const others = first.refused.filter((entry) => entry.path !== path && !entry.path.startsWith(`${path}/`));
  const { files, bytes, isCut } = second;
  return {
    files: first.files + files,
    bytes: first.bytes + bytes,
    refused: [...others, ...second.refused],
    ...(isCut ? { isCut } : {}),
  };
}

function renamesBelow(folder: string): Record<string, string> {
  return Object.fromEntries(
    capturedNames.map((name) => [join(folder, name), join(folder, name.replace(".txt", ".container.txt"))]),
  );
}
