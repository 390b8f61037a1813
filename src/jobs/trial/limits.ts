import { defaultPidsLimit, type ResourceLimits } from "../../environments/environment.ts";
import type { Job } from "../config/job.ts";
import type { TaskConfig } from "../tasks/task.ts";

/** Every limit of one trial in milliseconds, the multiplier applied. */
export interface TrialLimits {
  readonly imageMs: number;
  readonly startMs: number;
  readonly installMs: number;
  readonly executeMs: number;
  readonly verifyMs: number;
}

/** `(override or task value), capped by max, x timeout_multiplier`. */
export function planLimits(job: Job, config: TaskConfig): TrialLimits {
  const scale = (sec: number): number => sec * 1000 * job.timeoutMultiplier;
  const verifierSec = job.verifier.overrideTimeoutSec ?? config.verifier.timeoutSec;
  return {
    imageMs: scale(config.environment.buildTimeoutSec),
    startMs: scale(config.environment.buildTimeoutSec),
    installMs: scale(config.agent.installTimeoutSec),
    executeMs: scale(config.agent.timeoutSec),
    verifyMs: scale(Math.min(verifierSec, job.verifier.maxTimeoutSec ?? Infinity)),
  };
}

/** What a task's environment may use, the job's overrides applied. */
export function planResources(job: Job, config: TaskConfig): ResourceLimits {
  return {
    cpus: job.environment.overrideCpus ?? config.environment.cpus,
    memoryBytes: job.environment.overrideMemoryBytes ?? config.environment.memoryBytes,
    storageBytes: job.environment.overrideStorageBytes ?? config.environment.storageBytes,
    pids: job.environment.pidsLimit ?? defaultPidsLimit,
  };
}

/** The most entries that are copied out of `/logs`, and of anything else. */
export const mostLogEntries = 100_000;
export const mostCopiedEntries = 1_000_000;

// Not multiplied: giving things back is not the task's work and must end on any machine.
export const callLimitMs = 300_000;
export const collectLimitMs = 120_000;
export const teardownLimitMs = 60_000;
/** How long a trial waits for the list of files that its agent changed. */
export const changesLimitMs = 5_000;
/** How long a failed trial waits for its processes to be ended, and for its logs when they could not be. */
export const lateLimitMs = 30_000;
