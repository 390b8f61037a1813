import { messageOf, RolloutError } from "../base/rollout-error.ts";
import type { EnvironmentProvider, SnapshotStore } from "../environments/environment.ts";

/** What became of a cached install. */
export interface InstallOutcome {
  readonly provider: string;
  readonly key: string;
  readonly status: "removed" | "would_be_removed" | "in_use" | "failed";
  readonly message: string;
}

export interface CleanInstallsOptions {
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
}

/** Removes the cached installs of all providers that no environment was started from. */
export async function cleanInstalls(
  providers: readonly EnvironmentProvider[],
  options: CleanInstallsOptions,
): Promise<InstallOutcome[]> {
  const outcomes: InstallOutcome[] = [];
  for (const { name: provider, snapshots } of providers) {
    for (const { key, isUsed } of (await snapshots?.list(options.signal)) ?? []) {
      if (snapshots) outcomes.push({ provider, key, ...(await treat(snapshots, key, isUsed, options)) });
    }
  }
  return outcomes;
}

async function treat(
  snapshots: SnapshotStore,
  key: string,
  isUsed: boolean,
  { isDryRun, signal }: CleanInstallsOptions,
): Promise<Pick<InstallOutcome, "status" | "message">> {
  const inUse = { status: "in_use", message: "an environment was started from it" } as const;
  if (isUsed) return inUse;
  if (isDryRun) return { status: "would_be_removed", message: "would be removed" };
  try {
    await snapshots.remove(key, signal);
    return { status: "removed", message: "removed" };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RolloutError && error.code === "in_use") return inUse;
    return { status: "failed", message: `is still there: ${messageOf(error)}` };
  }
}
