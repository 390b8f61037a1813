import { messageOf, RolloutError, type ErrorCode } from "../../../base/rollout-error.ts";

/** What an engine, or the way to it, said instead of doing what it was asked. */
export class EngineError extends Error {
  /** The engine's answer; null when it gave none. */
  readonly status: number | null;

  constructor(status: number | null, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "EngineError";
    this.status = status;
  }
}

/** True for an engine's answer with that status. */
export function hasStatus(error: unknown, ...statuses: readonly number[]): boolean {
  return error instanceof EngineError && error.status !== null && statuses.includes(error.status);
}

// An engine answers with 500 as well when what stands or runs in the container is in an archive's way.
const inTheWay = /processing tar file.*(not empty|file exists|(is|not) a directory|no such file|not permitted)/is;

/** True when the engine itself is in trouble, so that the same call may succeed later. */
function isPassing({ status, message }: EngineError): boolean {
  return status === null || status === 429 || (status >= 500 && !inTheWay.test(message));
}

/** The one translation of an engine's error into ours; what is ours already, or a bug, stays as it is. */
export function wrapEngineError(error: unknown, code: ErrorCode, what: string): unknown {
  if (!(error instanceof EngineError)) return error;
  // The engine has no other way to say that its disk is full.
  if (/no space left on device/i.test(error.message)) {
    return new RolloutError("resource_allocation_failed", `${what}: the engine's disk is full: ${error.message}`, {
      hint: "make room with `docker system prune`",
      cause: error,
    });
  }
  return new RolloutError(code, `${what}: ${messageOf(error)}`, { cause: error, transient: isPassing(error) });
}
