import { isDiskFull, messageOf, RolloutError, type ErrorCode } from "../../base/rollout-error.ts";
import { AbortReason } from "../../engine/abort-reason.ts";
import type { Blame } from "../../store/run.ts";

export const failureTypes = [
  "environment_build_failed",
  "environment_build_timeout",
  "environment_image_pull_failed",
  "environment_start_failed",
  "environment_resource_allocation_failed",
  "agent_install_failed",
  "agent_install_timeout",
  "agent_execution_failed",
  "agent_execution_timeout",
  "verifier_failed",
  "verifier_timeout",
  "verifier_reward_missing",
  "verifier_reward_invalid",
  "environment_teardown_failed",
  "task_invalid",
  "task_not_found",
  "trial_cancelled",
  "internal_error",
] as const;

export type FailureType = (typeof failureTypes)[number];

/** Where a fault lies that neither an agent nor a task can mend. */
export type FailureCause = "infrastructure" | "configuration";

/** What a trial honestly ended with instead of a reward; a datum, never thrown. */
export interface Failure {
  readonly type: FailureType;
  /** One line or a few that a person can act on. */
  readonly message: string;
  /** Where the fault lies, when it is not the agent's or the task's. */
  readonly cause: FailureCause | null;
  /** Everything worth keeping for error.txt: hints, causes, stacks. */
  readonly detail: string;
  /** Who is to answer for it, where it is not who usually does. */
  readonly blame?: Blame | undefined;
}

// With no cause it is the agent's or the task's.
const blames: Readonly<Record<FailureType, Blame>> = {
  environment_build_failed: "task",
  environment_build_timeout: "task",
  environment_image_pull_failed: "infrastructure",
  environment_start_failed: "task",
  environment_resource_allocation_failed: "infrastructure",
  agent_install_failed: "agent",
  agent_install_timeout: "agent",
  agent_execution_failed: "agent",
  agent_execution_timeout: "agent",
  verifier_failed: "task",
  verifier_timeout: "task",
  verifier_reward_missing: "task",
  verifier_reward_invalid: "task",
  environment_teardown_failed: "infrastructure",
  task_invalid: "task",
  task_not_found: "task",
  trial_cancelled: "nobody",
  internal_error: "rollout",
};

/** Who is to answer for a failure. */
export function blameOf({ type, cause, blame }: Pick<Failure, "type" | "cause" | "blame">): Blame {
  return blame ?? cause ?? blames[type];
}

/** What was being done when something was thrown. */
export type Step = "build" | "pull" | "start" | "install" | "execute" | "verify" | "teardown";

const failedTypes: Readonly<Record<Step, FailureType>> = {
  build: "environment_build_failed",
  pull: "environment_image_pull_failed",
  start: "environment_start_failed",
  install: "agent_install_failed",
  execute: "agent_execution_failed",
  verify: "verifier_failed",
  teardown: "environment_teardown_failed",
};

const timeoutTypes: Readonly<Record<Step, FailureType>> = {
  ...failedTypes,
  build: "environment_build_timeout",
  install: "agent_install_timeout",
  execute: "agent_execution_timeout",
  verify: "verifier_timeout",
};

// Whatever was being done when it came to light.
const codeTypes: { readonly [code in ErrorCode]?: FailureType } = {
  environment_start_failed: "environment_start_failed",
  task_unfit: "environment_start_failed",
  resource_allocation_failed: "environment_resource_allocation_failed",
  image_pull_failed: "environment_image_pull_failed",
};

/** The one translation of what was thrown into what is recorded. */
export function failureOf(thrown: unknown, step: Step): Failure {
  if (thrown instanceof AbortReason) return abortFailure(thrown, step);
  // Whoever tells of it: a disk without room says nothing about the trial, which is run again once there is some.
  if (thrown instanceof RolloutError && !isDiskFull(thrown)) {
    const type = codeTypes[thrown.code] ?? failedTypes[step];
    return { type, message: thrown.message, cause: causeOf(thrown), detail: describeThrown(thrown) };
  }
  return {
    type: "internal_error",
    message: `unexpected: ${messageOf(thrown)}`,
    cause: isDiskFull(thrown) ? "infrastructure" : null,
    detail: describeThrown(thrown),
  };
}

function causeOf({ code, transient }: RolloutError): FailureCause | null {
  if (code === "task_unfit" || code === "environment_ended") return null;
  if (code === "image_build_failed" && !transient) return null;
  return code === "config_invalid" ? "configuration" : "infrastructure";
}

function abortFailure(reason: AbortReason, step: Step): Failure {
  if (reason.kind === "deadline") {
    const cause = step === "pull" || step === "start" ? "infrastructure" : null;
    return { type: timeoutTypes[step], message: reason.message, cause, detail: reason.message };
  }
  if (reason.kind === "internal")
    return { type: "internal_error", message: reason.message, cause: null, detail: describeThrown(reason) };
  return { type: "trial_cancelled", message: reason.message, cause: null, detail: reason.message };
}

/** Message, hint and the chain of causes, with stacks only for what nobody expected. */
export function describeThrown(thrown: unknown): string {
  const lines: string[] = [];
  for (let current: unknown = thrown, depth = 0; current !== undefined && depth < 8; depth++) {
    const isOurs = current instanceof RolloutError || current instanceof AbortReason;
    const text = isOurs || !(current instanceof Error) ? messageOf(current) : (current.stack ?? current.message);
    lines.push(depth === 0 ? text : `caused by: ${text}`);
    if (current instanceof RolloutError && current.hint !== undefined) lines.push(`hint: ${current.hint}`);
    current = current instanceof Error ? current.cause : undefined;
  }
  return lines.join("\n");
}
