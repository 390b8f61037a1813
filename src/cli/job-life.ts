import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Host } from "../base/host.ts";
import { isOwnerAlive } from "../base/process-owner.ts";
import { RolloutError } from "../base/rollout-error.ts";
import { readJob, type JobRecord } from "../jobs/output/read-job.ts";

/** Whether the process that runs a job still lives, as far as this machine can tell; one of another machine may. */
export function isJobAlive({ started }: Pick<JobRecord, "started">, host: Host): boolean {
  const { pid, hostname, boot_id: bootId, start_ticks: startTicks } = started;
  return isOwnerAlive({ pid, bootId, hostname, startTicks }, host, 0);
}

/** Reads the job in a directory that a person named. */
export async function readNamedJob(directory: string, host: Host): Promise<JobRecord> {
  const dir = resolve(host.cwd, directory);
  if (!existsSync(dir)) throw new RolloutError("not_found", `${directory} does not exist`);
  return readJob(dir);
}
