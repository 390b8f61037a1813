import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Environment } from "../../environments/environment.ts";
import { callEnvironment } from "./call-environment.ts";
import { mostCopiedEntries } from "./limits.ts";
import type { TryState } from "./try-state.ts";

// Larger ones are data, and nobody forges a test in them.
const largestBytes = 4 << 20;

/** Distrusts a trial whose tests are not the task's any more once they have run; what they made themselves is their own. */
export async function compareTests(state: TryState, environment: Environment): Promise<void> {
  const { context, task, paths, resources } = state;
  const source = join(task.directory, "tests");
  const staging = await mkdtemp(join(paths.dir, ".tests-"));
  try {
    const target = join(staging, "tests");
    const limits = { entries: mostCopiedEntries, bytes: resources.storageBytes };
    await callEnvironment(context, "looking at the tests", (signal) =>
      environment.copyFrom({ source: "/tests", target, limits, signal }),
    );
    const changed = await findChanged(source, target);
    if (changed.length > 0)
      state.distrust(`something that the agent left running changed the tests: ${changed.slice(0, 3).join(", ")}`);
  } catch (error) {
    if (!(error instanceof RolloutError && error.code === "not_found")) throw error;
    state.distrust("something that the agent left running removed the tests");
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function findChanged(source: string, copy: string): Promise<string[]> {
  const changed: string[] = [];
  for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = relative(source, join(entry.parentPath, entry.name));
    const [before, after] = await Promise.all([readSmall(join(source, path)), readSmall(join(copy, path))]);
    if (before !== null && (after === null || !before.equals(after))) changed.push(`/tests/${path}`);
  }
  return changed;
}

async function readSmall(path: string): Promise<Buffer | null> {
  const content = await readFile(path).catch(() => null);
  return content !== null && content.length <= largestBytes ? content : null;
}
