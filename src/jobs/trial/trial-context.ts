import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Redactor } from "../../base/redactor.ts";
import type { EnvironmentProvider } from "../../environments/environment.ts";
import type { RunListener } from "../../store/run.ts";
import type { Job } from "../config/job.ts";
import type { InstallCache } from "../installs/install-cache.ts";
import type { EarlierTries } from "../output/set-aside.ts";
import type { TrialInputsFile } from "../output/trial-result-schema.ts";
import type { ImageShelf } from "./image-shelf.ts";
import type { Trial } from "./trial.ts";

/** What every trial of a job shares. */
export interface TrialContext {
  readonly job: Job;
  readonly jobDir: string;
  readonly provider: EnvironmentProvider;
  readonly images: ImageShelf;
  readonly installs: InstallCache;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: Log;
  readonly emit: RunListener;
  /** What a trial depends on, in hashes; what cannot be read is null. */
  inputsOf(trial: Trial): Promise<TrialInputsFile>;
  /** Makes room for a trial that an earlier session began; null when none did. */
  reopen(trial: Trial): Promise<EarlierTries | null>;
  /** Labels that every environment of this run carries: run id and owner. */
  readonly labels: Readonly<Record<string, string>>;
  /** Ends the work of running trials. */
  readonly signal: AbortSignal;
  /** Ends even the waiting for teardown. */
  readonly forceSignal: AbortSignal;
  /** The command of ours that enters what a trial kept; null when the provider has no way in. */
  enterCommandOf(trialDir: string): string | null;
  /** Told of every environment that could not be removed, with the way to do it by hand. */
  onLeftBehind(environmentId: string): void;
  /** Told when the disk takes nothing more, so that no further trial is started for nothing. */
  onDiskFull(error: unknown): void;
}
