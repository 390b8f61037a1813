import type { Host } from "../base/host.ts";
import { isOwnerAlive } from "../base/process-owner.ts";
import type { JobRecord } from "../jobs/output/read-job.ts";

/** Whether the process that runs a job still lives, as far as this machine can tell; one of another machine may. */
export function isJobAlive({ started }: Pick<JobRecord, "started">, host: Host): boolean {
  const { pid, hostname, boot_id: bootId, start_ticks: startTicks } = started;
  return isOwnerAlive({ pid, bootId, hostname, startTicks }, host, 0);
}
