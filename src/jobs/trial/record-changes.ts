import { isDiskFull, messageOf, RolloutError } from "../../base/rollout-error.ts";
import { writeFileAtomic } from "../../base/writers/atomic-file.ts";
import type { Environment } from "../../environments/environment.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import { scratchDir } from "../agents/script-agent.ts";
import { describeChanges } from "../output/changes-text.ts";
import { changesLimitMs } from "./limits.ts";
import type { TryState } from "./try-state.ts";

// Placed by us, for the agent or the verifier.
const ownPaths = ["/logs", "/tests", "/oracle", "/solution", scratchDir];

/**
 * Writes changes.txt: what differs in the working directory after the agent. Writes nothing if nothing differs or the
 * provider cannot tell. Never throws: a problem is a warning of the trial.
 */
export async function recordChanges(state: TryState, environment: Environment): Promise<void> {
  const { context, paths, warn } = state;
  const { clock, signal: parent, redactor, job } = context;
  if (context.provider.capabilities.changes !== true || parent.aborted) return;
  const limit = { clock, limitMs: changesLimitMs, parent, what: "listing changed files", graceMs: 1000 };
  const directory = environment.workdir;
  const exclude = [...ownPaths, job.instructionPath];
  try {
    await withDeadline(limit, async (signal) => {
      const report = (await environment.listChanges?.({ directory, exclude, signal })) ?? null;
      if (report === null || report.changes.length === 0) return;
      const text = await describeChanges(report, { directory, redactor, signal });
      // A late answer must not write into the directory of a trial that has moved on.
      signal.throwIfAborted();
      await writeFileAtomic(paths.changes, text, redactor);
    });
  } catch (error) {
    // The step that follows reports these.
    if (parent.aborted || isGone(error)) return;
    if (isDiskFull(error)) context.onDiskFull(error);
    warn(`changes.txt was not written: ${messageOf(error)}`);
  }
}

function isGone(error: unknown): boolean {
  return error instanceof RolloutError && (error.code === "environment_lost" || error.code === "environment_ended");
}
