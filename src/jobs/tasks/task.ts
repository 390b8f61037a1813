import type { Problem } from "../../base/problem.ts";
import type { Leftovers, NonzeroExit, VerifierEnvironment } from "../config/job.ts";
import type { NetworkDemands } from "./unsupported-features.ts";

/** What a task.toml says, with every default applied. */
export interface TaskConfig {
  readonly version: string;
  /** Where the author says the task comes from. */
  readonly source: string | null;
  /** Whatever the author wrote under `[metadata]`, as plain JSON values. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tags: readonly string[];
  readonly category: string | null;
  readonly difficulty: string | null;
  readonly verifier: TaskVerifier;
  readonly agent: { readonly installTimeoutSec: number; readonly timeoutSec: number };
  readonly environment: {
    readonly buildTimeoutSec: number;
    readonly dockerImage: string | null;
    readonly cpus: number;
    readonly memoryBytes: number;
    readonly storageBytes: number;
  };
  /** Network restrictions of the task. They apply only where the job sets a policy. */
  readonly networkDemands: NetworkDemands;
  /** The oracle needs variables from `[solution.env]`, which is not supported. */
  readonly hasSolutionEnv: boolean;
}

/** Verifier settings of a task; null leaves the choice to the job, then to the default. */
export interface TaskVerifier {
  readonly timeoutSec: number;
  /** Templates: `${VAR}` and `${VAR:-default}` are not expanded yet. */
  readonly env: Readonly<Record<string, string>>;
  readonly leftovers: Leftovers | null;
  readonly nonzeroExit: NonzeroExit | null;
  readonly environment: VerifierEnvironment | null;
  readonly paths: readonly string[] | null;
}

/** A task that can be run. */
export interface ReadyTask {
  readonly status: "ready";
  readonly name: string;
  readonly datasetName: string;
  /** Absolute. */
  readonly directory: string;
  readonly config: TaskConfig;
  /** Whether `solution/solve.sh` is there. */
  readonly hasSolution: boolean;
  readonly gitCommitId: string | null;
  readonly warnings: readonly Problem[];
}

/** A task whose trials fail before a container starts, and why. */
export interface BrokenTask {
  readonly status: "broken";
  readonly name: string;
  readonly datasetName: string;
  /** Null when the task could not be brought to this machine. */
  readonly directory: string | null;
  readonly gitCommitId: string | null;
  readonly failureType: "task_invalid" | "task_not_found";
  /** One line that a person can act on. */
  readonly message: string;
  readonly problems: readonly Problem[];
  /** True only when loading the task again may succeed without anybody changing anything. */
  readonly transient: boolean;
}

export type TaskEntry = ReadyTask | BrokenTask;

/** The tasks of one dataset of a job, in the order they are planned. */
export interface Dataset {
  readonly name: string;
  readonly version: string | null;
  /** Where it came from, as a person would say it. */
  readonly source: string;
  readonly tasks: readonly TaskEntry[];
  /** Which commit stands for each repository that the registry did not pin. */
  readonly pins: readonly { readonly url: string; readonly commit: string }[];
  readonly nConcurrent: number | null;
}
