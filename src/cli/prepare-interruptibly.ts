import { raceWithSignal } from "../engine/race-with-signal.ts";
import type { Job } from "../jobs/config/job.ts";
import { prepareJob, type PreparedJob, type PrepareOptions } from "../jobs/prepare-job.ts";

/** Prepares a job and gives up as soon as the signal is aborted, even if the job's provider does not listen to it. */
export function prepareInterruptibly(job: Job, options: PrepareOptions): Promise<PreparedJob> {
  return raceWithSignal(prepareJob(job, options), options.signal, (late) => void late[Symbol.asyncDispose]());
}
