import { inspect } from "node:util";
import type { Problem } from "./problem.ts";

/** Why something we call on purpose could not be done; a closed list, so that callers decide on it and never on a message. */
export type ErrorCode =
  | "config_invalid"
  | "usage_invalid"
  | "not_found"
  | "already_exists"
  | "range_invalid"
  | "in_use"
  | "budget_spent"
  | "io_failed"
  | "registry_failed"
  | "git_failed"
  | "provider_unavailable"
  | "image_build_failed"
  | "image_pull_failed"
  | "environment_start_failed"
  | "task_unfit"
  | "resource_allocation_failed"
  | "environment_lost"
  /** What ran in it ended it. */
  | "environment_ended"
  | "exec_failed"
  | "copy_failed"
  | "teardown_failed"
  | "unsupported";

export interface RolloutErrorOptions {
  /** What a person can do about it. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** Every single thing that is wrong with what a person wrote, when the error is about that. */
  readonly problems?: readonly Problem[] | undefined;
  /** Lines to read before the message, a difference for one. */
  readonly details?: readonly string[] | undefined;
  /** True only when the same call may succeed if it is made again. */
  readonly transient?: boolean | undefined;
}

const brand = Symbol.for("rollout-eval.RolloutError");

/** The one class of errors we throw on purpose; anything else that flies is a bug. */
export class RolloutError extends Error {
  // An adapter may bring its own copy of this package; its errors are ours all the same.
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && brand in value;
  }

  readonly [brand] = true;
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly transient: boolean;
  readonly problems: readonly Problem[];
  readonly details: readonly string[];

  constructor(code: ErrorCode, message: string, options: RolloutErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "RolloutError";
    this.code = code;
    this.hint = options.hint;
    this.transient = options.transient ?? false;
    this.problems = options.problems ?? [];
    this.details = options.details ?? [];
  }
}

/** The text of anything that was thrown, without a stack; never throws itself. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  if (typeof thrown === "string") return thrown;
  try {
    return JSON.stringify(thrown) ?? inspect(thrown);
  } catch {
    return inspect(thrown);
  }
}

/** The system error code of anything that was thrown (`ENOENT`, `ENOSPC`), if it has one. */
export function systemCodeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" ? code : undefined;
}

const fullDiskCodes: readonly (string | undefined)[] = ["ENOSPC", "EDQUOT", "EROFS"];

/** True when the disk takes nothing more, however deep in the causes that stands. */
export function isDiskFull(thrown: unknown): boolean {
  for (let current = thrown, depth = 0; current instanceof Error && depth < 8; depth++) {
    if (fullDiskCodes.includes(systemCodeOf(current))) return true;
    current = current.cause;
  }
  return false;
}
