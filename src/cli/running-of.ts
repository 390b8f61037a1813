import { trialKey } from "../jobs/output/job-paths.ts";
import type { JobRecord } from "../jobs/output/read-job.ts";
import type { RunningTrial } from "../jobs/output/read-running.ts";

/** Those of the trials that a log calls running that have no result yet: the journal is ahead of the log. */
export function runningOf({ trials }: JobRecord, logged: readonly RunningTrial[]): RunningTrial[] {
  const keys = trials.map((trial) => trialKey(trial.agent_name, trial.dataset_name, trial.task_name, trial.attempt));
  const finished = new Set(keys);
  return logged.filter(({ key }) => !finished.has(key));
}
