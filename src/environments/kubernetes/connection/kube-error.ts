import { messageOf, RolloutError, type ErrorCode } from "../../../base/rollout-error.ts";

/** What a cluster, or the way to it, said instead of doing what it was asked. */
export class KubeError extends Error {
  /** The answer of the API server; null when it gave none. */
  readonly status: number | null;
  /** The API's own word: `NotFound`, `Forbidden`, `AlreadyExists`. */
  readonly reason: string;
  /** How long it asks to be left alone; null when it does not say. */
  readonly retryAfterMs: number | null;

  constructor(
    status: number | null,
    message: string,
    options: { readonly reason?: string; readonly retryAfterMs?: number | null; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "KubeError";
    this.status = status;
    this.reason = options.reason ?? "";
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** True for an answer with that status. */
export function hasStatus(error: unknown, ...statuses: readonly number[]): boolean {
  return error instanceof KubeError && error.status !== null && statuses.includes(error.status);
}

/** True when the cluster itself is in trouble, or too busy, so that the same call may succeed later. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  return error.status === null || error.status === 429 || error.status >= 500;
}

/** The one translation of a cluster's error into ours; what is ours already, or a bug, stays as it is. */
export function wrapKubeError(error: unknown, code: ErrorCode, what: string): unknown {
  if (!(error instanceof KubeError)) return error;
  const hint =
    error.status === 403
      ? "the guide has the Role that is needed; `kubectl auth can-i` tells what is missing"
      : undefined;
  return new RolloutError(code, `${what}: ${messageOf(error)}`, { cause: error, hint, transient: isPassing(error) });
}
