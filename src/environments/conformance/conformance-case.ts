import type {
  Capabilities,
  CreateEnvironmentRequest,
  Environment,
  EnvironmentProvider,
  TaskEnvironment,
} from "../environment.ts";

/** What a provider must be able to do for a case to apply to it. */
export type Need =
  | "shell"
  | "users"
  | "owners"
  | "stop"
  | "freeze"
  | "snapshots"
  | "changes"
  | "limits.memory"
  | "limits.storage"
  | "limits.pids";

/** What a case works with; the runner gives everything back afterwards. */
export interface ConformanceSubject {
  readonly provider: EnvironmentProvider;
  /** An absolute directory inside every environment that the case may fill; it may not exist yet. */
  readonly scratch: string;
  /** An empty directory on the host. */
  readonly hostDir: string;
  /** An image that a Dockerfile may start from. */
  readonly baseImage: string;
  /** A task that the provider cannot run. */
  readonly impossibleTask: TaskEnvironment;
  /** Far more than a working provider needs; only a broken one makes a case wait so long. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  /** Starts an environment that is destroyed when the case is over. */
  readonly createEnvironment: (overrides?: Partial<CreateEnvironmentRequest>) => Promise<Environment>;
  /** Writes files to a new host directory, for use as a task's context. */
  readonly taskDir: (files: Readonly<Record<string, string>>) => Promise<string>;
}

/** One promise of the environment contract, checked with `node:assert`. */
export interface ConformanceCase {
  /** A sentence about what holds. */
  readonly title: string;
  readonly needs: readonly Need[];
  run(subject: ConformanceSubject): Promise<void>;
}

/** The needs of a case that a provider does not meet; the case applies when there are none. */
export function missingNeeds(conformanceCase: ConformanceCase, capabilities: Capabilities): readonly Need[] {
  return conformanceCase.needs.filter((need) => !meets(capabilities, need));
}

function meets(capabilities: Capabilities, need: Need): boolean {
  switch (need) {
    case "limits.memory":
      return capabilities.limits.memory === "enforced";
    case "limits.storage":
      return capabilities.limits.storage === "enforced";
    case "limits.pids":
      return capabilities.limits.pids === "enforced";
    default:
      return capabilities[need] === true;
  }
}
