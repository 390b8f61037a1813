import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import { readHolder } from "../../../base/process-lock.ts";
import { isOwnerAlive } from "../../../base/process-owner.ts";
import { noSecrets } from "../../../base/redactor.ts";
import { writeJsonAtomic } from "../../../base/writers/atomic-file.ts";
import { applyLease, hasEnded } from "../../../store/lease.ts";
import { runStatuses, type Run } from "../../../store/run.ts";

const runFileName = ".run.json";

/** The directory that is the lock of an experiment directory. */
export const lockName = ".lock";

/** Writes the experiment of a directory as a run. This file makes the directory an experiment. */
export async function writeRun(directory: string, run: Run): Promise<void> {
  await writeJsonAtomic(join(directory, runFileName), run, noSecrets);
}

/** Reads the experiment of a directory; null if there is none. A running experiment without a living process is `interrupted`. */
export async function readRun(
  directory: string,
  { host, clock }: { readonly host: Host; readonly clock: Clock },
): Promise<Run | null> {
  const run = await readRunFile(directory);
  if (run === null) return null;
  const holder = await readHolder(join(directory, lockName));
  const isAlive = holder !== null && isOwnerAlive(holder.owner, host, clock.now() - holder.since);
  if (isAlive || hasEnded(run)) return applyLease(run, isAlive ? holder.owner : null);
  // Its process may have written the end and released the lock since the file was read.
  return applyLease((await readRunFile(directory)) ?? run, null);
}

/** Returns whether a directory holds an experiment. */
export async function isExperiment(directory: string): Promise<boolean> {
  return (await readRunFile(directory)) !== null;
}

async function readRunFile(directory: string): Promise<Run | null> {
  try {
    const run = JSON.parse(await readFile(join(directory, runFileName), "utf8")) as Partial<Run> | null;
    return isExperimentRun(run) ? run : null;
  } catch {
    return null;
  }
}

/** Checks the fields that lists and plans are made of: a person may have changed the file. */
function isExperimentRun(run: Partial<Run> | null): run is Run {
  if (run?.kind !== "experiment" || typeof run.name !== "string" || typeof run.createdAt !== "number") return false;
  const { status, plan, shape, counts, details, tags, params, sessions, datasets, targets, warnings, notes } = run;
  const objects: readonly unknown[] = [plan, shape, counts, details, tags, params];
  const lists: readonly unknown[] = [sessions, datasets, targets, warnings, notes];
  return (
    runStatuses.some((each) => each === status) &&
    objects.every((each) => typeof each === "object" && each !== null) &&
    lists.every((each) => Array.isArray(each))
  );
}
