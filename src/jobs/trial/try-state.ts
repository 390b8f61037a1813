import type { Environment, ImagePlan, ProcessInfo, ResourceLimits } from "../../environments/environment.ts";
import type { TrialPaths } from "../output/job-paths.ts";
import type { InstallTurn } from "../installs/install-cache.ts";
import type { ReadyTask } from "../tasks/task.ts";
import type { Step } from "./failure.ts";
import type { TrialLimits } from "./limits.ts";
import type { PhaseClock } from "./phase-clock.ts";
import type { Trial } from "./trial.ts";
import type { TrialContext } from "./trial-context.ts";

/** One try of a trial while it runs: what it was given, and what has become of it so far. */
export interface TryState {
  readonly context: TrialContext;
  readonly trial: Trial;
  readonly task: ReadyTask;
  readonly paths: TrialPaths;
  readonly limits: TrialLimits;
  readonly resources: ResourceLimits;
  readonly phases: PhaseClock;
  readonly onLine: (line: string) => void;
  /** Told what the environment's start waits for. */
  readonly onWait: (words: string) => void;
  readonly warn: (message: string) => void;
  /** Notes a reason why nobody should rely on the reward. */
  readonly distrust: (reason: string) => void;
  /** Retries a failed call in place while the agent has not started. */
  readonly retry: <T>(call: () => Promise<T>) => Promise<T>;
  /** The reference of an image; retries of a shared build or pull count as this trial's. */
  readonly obtainImage: (plan: ImagePlan) => Promise<string>;
  /** How many environments this trial has lost before this try. */
  readonly lost: number;
  /** Where the agent's install comes from; known once its image is there. */
  install: InstallTurn;
  step: Step;
  /** Where the tests run when that is not the agent's environment. */
  verifierEnvironment: Environment | null;
  /** Whether `/logs` has been copied out already. */
  isCollected: boolean;
  leftovers: readonly ProcessInfo[];
  /** What could still be written where the agent worked when it had ended; null while that is not known. */
  roomLeftBytes: number | null;
  /** Shells, loader files and libraries that the agent changed, read before the tests begin. */
  changedTools: readonly string[];
  /** Whether they were ended before the tests began. */
  areLeftoversEnded: boolean;
}
