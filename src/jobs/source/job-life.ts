import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import { readRegularFile } from "../../base/open-regular-file.ts";
import { isOwnerAlive, parseOwner } from "../../base/process-owner.ts";
import type { Run } from "../../store/run.ts";
import type { JobPaths } from "../output/job-paths.ts";

/** The machine and the time that decide whether a process is alive. */
export interface Observer {
  readonly host: Host;
  readonly clock: Clock;
}

export type JobLife = Pick<Run, "status" | "owner">;

const maxOwnerBytes = 64 * 1024;

/** Returns the state of a job that has no recorded end: running, paused, or interrupted if its process is dead. */
export async function readLife(paths: JobPaths, { host, clock }: Observer): Promise<JobLife> {
  // The claim exists exactly while a process works on the job.
  const owner = parseOwner((await readRegularFile(join(paths.claim, "owner.json"), maxOwnerBytes)) ?? "");
  const isForeign = owner !== null && owner.hostname !== host.hostname;
  const idleMs = isForeign ? clock.now() - (await readLastWrite(paths)) : 0;
  if (owner === null || !isOwnerAlive(owner, host, idleMs)) return { status: "interrupted", owner: null };
  const { pid, hostname } = owner;
  return { status: existsSync(paths.pause) ? "paused" : "running", owner: { pid, hostname } };
}

// The only trace of a process on another machine.
async function readLastWrite({ own }: JobPaths): Promise<number> {
  const names = await readdir(own).catch(() => []);
  const times = await Promise.all(
    names.map((name) =>
      stat(join(own, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  return Math.max(0, ...times);
}
