import type { Capacity } from "../environments/environment.ts";
import type { Job } from "./config/job.ts";
import { mostAtOnce } from "./most-at-once.ts";
import type { Trial } from "./trial/trial.ts";

/** The job with as many trials at once as the machine has room for, where nobody chose another number. */
export function fitConcurrency(job: Job, trials: readonly Trial[], capacity: Capacity | null): Job {
  if (capacity === null || job.isConcurrencyChosen) return job;
  const hasRoom = (count: number): boolean => {
    const { cpus, memoryBytes } = mostAtOnce(job, trials, count);
    return cpus <= capacity.cpus && memoryBytes <= capacity.memoryBytes;
  };
  const usual = Math.min(job.nConcurrentTrials, trials.length);
  let count = usual;
  while (count > 1 && !hasRoom(count)) count--;
  if (count === usual) return job;
  // A resumed job is to run as many.
  return { ...job, nConcurrentTrials: count, document: { ...job.document, n_concurrent_trials: count } };
}
