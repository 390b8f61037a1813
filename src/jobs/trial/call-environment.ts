import { RolloutError } from "../../base/rollout-error.ts";
import { isAbort } from "../../engine/abort-reason.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import { callLimitMs } from "./limits.ts";
import type { TrialContext } from "./trial-context.ts";

/** A small call to an environment (copy, list, kill): an environment that does not answer in time counts as a failed call, not as the task's timeout. */
export async function callEnvironment<T>(
  context: TrialContext,
  what: string,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withDeadline(
      { clock: context.clock, limitMs: callLimitMs, parent: context.signal, what, graceMs: 1000 },
      call,
    );
  } catch (error) {
    if (!isAbort(error, "deadline")) throw error;
    throw new RolloutError(
      "exec_failed",
      `${what}: the environment did not answer within ${callLimitMs / 1000} seconds`,
      { cause: error },
    );
  }
}
