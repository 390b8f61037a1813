import { isDiskFull, messageOf, RolloutError, type ErrorCode } from "../../base/rollout-error.ts";
import { AbortReason } from "../../engine/abort-reason.ts";
import type { FailureCause } from "../../store/run.ts";

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

/** Why a trial has no reward. A value, never thrown. */
export interface Failure {
  readonly type: FailureType;
  /** A few lines at most that a person can act on. */
  readonly message: string;
  /** Null for the usual cause of its type. */
  readonly cause: FailureCause | null;
  /** The text of error.txt: hints, causes, stacks. */
  readonly detail: string;
}

const usualCauses: Readonly<Record<FailureType, FailureCause>> = {
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
  trial_cancelled: "cancelled",
  internal_error: "rollout",
};

/** Returns where a failure comes from. */
export function causeOf({ type, cause }: Pick<Failure, "type" | "cause">): FailureCause {
  return cause ?? usualCauses[type];
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
  // A full disk is not a result of the trial, whichever call reports it. The trial runs again on resume.
  if (thrown instanceof RolloutError && !isDiskFull(thrown)) {
    const type = codeTypes[thrown.code] ?? failedTypes[step];
    return { type, message: thrown.message, cause: causeOfError(thrown), detail: describeThrown(thrown) };
  }
  return {
    type: "internal_error",
    message: `unexpected: ${messageOf(thrown)}`,
    cause: isDiskFull(thrown) ? "infrastructure" : null,
    detail: describeThrown(thrown),
  };
}

function causeOfError({ code, transient }: RolloutError): FailureCause | null {
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
