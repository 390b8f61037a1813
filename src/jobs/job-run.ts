import type { Clock } from "../base/clock.ts";
import type { Host } from "../base/host.ts";
import type { LogEntry } from "../base/log.ts";
import type { Run, RunListener, RunOrigin } from "../store/run.ts";
import type { RunStore } from "../store/run-store.ts";
import type { JobResultFile } from "./output/job-result-schema.ts";
import type { PlannedSession } from "./resume/plan-session.ts";

/** Options of a job run. */
export interface RunJobOptions {
  readonly runId: string;
  readonly host: Host;
  readonly clock: Clock;
  /** Ends the job: running trials are terminated, the others skipped. */
  readonly signal: AbortSignal;
  /** Ends even the waiting for teardown. */
  readonly forceSignal: AbortSignal;
  /** What to resume; null for a new job. */
  readonly session: PlannedSession | null;
  readonly origin: RunOrigin;
  /** Where the job registers itself and its trials, beside its directory. Default: nowhere. */
  readonly registry?: RunStore | undefined;
  readonly onEvent: RunListener;
  /** Log entries that reach the job's `log_level`. */
  readonly onLog: (entry: LogEntry) => void;
}

/** How a job ended. */
export interface JobRun {
  readonly dir: string;
  readonly result: JobResultFile;
  readonly run: Run;
  /** Environments that were kept on purpose, with the way in. */
  readonly kept: readonly { readonly id: string; readonly enter: string | null }[];
  /** Environments that could not be removed. */
  readonly leftBehind: readonly string[];
  /** What kept the end of the job from being written, a full disk for one; null when all is on disk. */
  readonly unwritten: unknown;
  /** What to type to go on with it; null when nothing of it is left. */
  readonly resume: string | null;
  /** What a person should know of that, a line each. */
  readonly notes: readonly string[];
}
