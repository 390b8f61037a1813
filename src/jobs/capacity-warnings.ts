import type { Capacity } from "../environments/environment.ts";
import type { Job } from "./config/job.ts";
import { planResources } from "./trial/limits.ts";
import type { Trial } from "./trial/trial.ts";

/** What a person should know when trials that run at once may use more than there is. */
export function capacityWarnings(job: Job, trials: readonly Trial[], capacity: Capacity | null): string[] {
  if (capacity === null) return [];
  const asked = trials.flatMap(({ task }) => (task.status === "ready" ? [planResources(job, task.config)] : []));
  const inFlight = Math.min(job.nConcurrentTrials, asked.length);
  const most = (values: readonly number[]): number =>
    values
      .toSorted((one, other) => other - one)
      .slice(0, inFlight)
      .reduce((sum, value) => sum + value, 0);
  const cpus = most(asked.map((limits) => limits.cpus));
  const memoryBytes = most(asked.map((limits) => limits.memoryBytes));
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

function gigabytes(bytes: number): number {
  return Number((bytes / 1e9).toFixed(1));
}
