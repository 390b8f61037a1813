import type { Capacity } from "../environments/environment.ts";
import type { Job } from "./config/job.ts";
import { mostAtOnce } from "./most-at-once.ts";
import type { Trial } from "./trial/trial.ts";

/** What a person should know when trials that run at once may use more than there is. */
export function capacityWarnings(job: Job, trials: readonly Trial[], capacity: Capacity | null): string[] {
  if (capacity === null) return [];
  const { trials: inFlight, cpus, memoryBytes } = mostAtOnce(job, trials, job.nConcurrentTrials);
  const over = [
    ...(cpus > capacity.cpus ? [`${cpus} of the ${capacity.cpus} CPUs`] : []),
    ...(memoryBytes > capacity.memoryBytes
      ? [`${gigabytes(memoryBytes)} of the ${gigabytes(capacity.memoryBytes)} GB of memory`]
      : []),
  ];
  if (over.length === 0) return [];
  if (inFlight === 1)
    return [`a trial may use ${over.join(" and ")} that the environment's machine has; it gets no more than that`];
  return [
    `${inFlight} trials at once may use ${over.join(" and ")} that the environment's machine has; they may slow each other down or run out of memory (n_concurrent_trials)`,
  ];
}

/** What a person should know when fewer trials run at once than usual. */
export function fitWarnings(usual: Job, fitted: Job, capacity: Capacity | null): string[] {
  if (capacity === null || fitted.nConcurrentTrials === usual.nConcurrentTrials) return [];
  const room = `${capacity.cpus} CPUs and ${gigabytes(capacity.memoryBytes)} GB of memory`;
  return [
    `no more than ${fitted.nConcurrentTrials} of ${usual.nConcurrentTrials} trials run at once, because the environment's machine has ${room}; n_concurrent_trials (--concurrency) says otherwise`,
  ];
}

function gigabytes(bytes: number): number {
  return Number((bytes / 1e9).toFixed(1));
}
