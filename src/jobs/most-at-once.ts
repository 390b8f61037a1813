import type { Job } from "./config/job.ts";
import { planResources } from "./trial/limits.ts";
import type { Trial } from "./trial/trial.ts";

/** What so many trials at once may use, whichever they are. */
export interface UseAtOnce {
  /** Fewer than asked for when there are not as many. */
  readonly trials: number;
  readonly cpus: number;
  readonly memoryBytes: number;
}

/** Adds up the limits of those that may use most. */
export function mostAtOnce(job: Job, trials: readonly Trial[], count: number): UseAtOnce {
  const asked = trials.flatMap(({ task }) => (task.status === "ready" ? [planResources(job, task.config)] : []));
  const most = (values: readonly number[]): number =>
    values
      .toSorted((one, other) => other - one)
      .slice(0, count)
      .reduce((sum, value) => sum + value, 0);
  return {
    trials: Math.min(count, asked.length),
    cpus: most(asked.map((limits) => limits.cpus)),
    memoryBytes: most(asked.map((limits) => limits.memoryBytes)),
  };
}
