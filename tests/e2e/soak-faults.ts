import { createHash } from "node:crypto";
import type { FailureType } from "../../src/jobs/trial/failure.ts";
import type { FailureCause } from "../../src/store/run.ts";
import { seededRandom } from "../../src/base/seeded-random.ts";

/** What a trial with a fault must end with. */
export interface FaultEnd {
  readonly error: FailureType | null;
  readonly cause: FailureCause | null;
  /** Whether there is a reward all the same. */
  readonly isMarked: boolean;
  readonly tries: number;
}

/** How often a job of a soak may try again. */
export const soakRetries = 1;

const fine: FaultEnd = { error: null, cause: null, isMarked: true, tries: 1 };
const recovered: FaultEnd = { ...fine, tries: 2 };
const failed = (error: FailureType, cause: FailureCause, tries = 1): FaultEnd => ({
  error,
  cause,
  isMarked: false,
  tries,
});
const given = 1 + soakRetries;

/** Everything that goes wrong in a soak, and what is to come of it; the names are what scripts and provider go by. */
export const soakFaults = {
  none: fine,
  // Of the provider.
  "create-fails-once": recovered,
  "create-fails": failed("environment_start_failed", "infrastructure", given),
  "no-room": failed("environment_resource_allocation_failed", "infrastructure"),
  "slow-copies": fine,
  "copy-fails-once": recovered,
  "install-breaks": failed("agent_install_failed", "infrastructure"),
  "execute-breaks": failed("agent_execution_failed", "infrastructure"),
  "verify-breaks": failed("verifier_failed", "infrastructure"),
  "tests-not-copied": failed("verifier_failed", "infrastructure"),
  "logs-not-copied": failed("verifier_failed", "infrastructure"),
  "adapter-bug": failed("internal_error", "rollout"),
  "unanswered-removal": { ...fine, error: "environment_teardown_failed", cause: "infrastructure" },
  // Of the machine: the first process of the sandbox is killed while a command runs.
  "supervisor-dies-once": recovered,
  "supervisor-dies": failed("agent_execution_failed", "infrastructure", given),
  "supervisor-dies-late": failed("verifier_failed", "infrastructure", given),
  // Of what runs inside.
  "install-exits": failed("agent_install_failed", "agent"),
  "agent-exits": failed("agent_execution_failed", "agent"),
  "agent-kills-all": failed("agent_execution_failed", "agent"),
  "agent-fills-disk": failed("agent_execution_failed", "agent"),
  "agent-floods": fine,
  "agent-leaves-daemon": fine,
  "test-exits": failed("verifier_failed", "task"),
  "no-reward": failed("verifier_reward_missing", "task"),
  "bad-reward": failed("verifier_reward_invalid", "task"),
} as const satisfies Readonly<Record<string, FaultEnd>>;

/** What befalls trials of a task with short limits, each of which is reached. */
export const hastyFaults = {
  "start-hangs": failed("environment_start_failed", "infrastructure"),
  "install-hangs": failed("agent_install_timeout", "agent"),
  "agent-hangs": failed("agent_execution_timeout", "agent"),
  "test-hangs": failed("verifier_timeout", "task"),
} as const satisfies Readonly<Record<string, FaultEnd>>;

/** The name of the one task whose limits are short. */
export const hastyTask = "hasty";

/** The name of the one task that is tested in an environment of its own. */
export const apartTask = "apart";

export type SoakFault = keyof typeof soakFaults | keyof typeof hastyFaults;

/** What happens to a trial; the same for the same seed and trial, in every process. */
export interface SoakFate {
  readonly fault: SoakFault;
  readonly isInMemory: boolean;
  readonly delayMs: number;
}

/** Draws what happens to a trial of the given key. */
export function drawFate(seed: number, key: string): SoakFate {
  const random = seededRandom(createHash("sha256").update(`${seed} ${key}`).digest().readInt32LE());
  const pick = <T>(from: readonly T[], otherwise: T): T => from[Math.floor(random() * from.length)] ?? otherwise;
  const isInMemory = random() < 0.3;
  const delayMs = Math.floor(random() * 200);
  const isSpared = random() < 0.4;
  const names = Object.keys(soakFaults) as (keyof typeof soakFaults)[];
  if (key.includes(`/${hastyTask}__`))
    return { fault: pick(Object.keys(hastyFaults) as SoakFault[], "agent-hangs"), isInMemory, delayMs };
  const drawn = isSpared ? "none" : pick<SoakFault>(names, "none");
  // There the tests are in place from the start.
  const fault = drawn === "tests-not-copied" && key.includes(`/${apartTask}__`) ? "none" : drawn;
  return { fault, isInMemory, delayMs };
}

/** What the trial of the given key must end with. */
export function endOfFate({ fault }: SoakFate): FaultEnd {
  return { ...soakFaults, ...hastyFaults }[fault];
}
