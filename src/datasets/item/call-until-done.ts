import type { Clock } from "../../base/clock.ts";
import { exceeded } from "../../engine/deadline.ts";
import { executeTarget } from "../targets/execute-target.ts";
import { failed } from "../targets/execution-result.ts";
import type { TargetCall } from "../targets/target-call.ts";
import type { ExecutionResult } from "../targets/target.ts";
import type { HeldTime } from "./held-time.ts";
import { isTransientError } from "./is-transient.ts";

export interface RetryRules {
  /** After the first try. */
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly itemTimeoutMs: number | null;
}

export interface RetryHelp {
  readonly clock: Clock;
  readonly held: HeldTime;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly onRetry: (retry: { readonly tries: number; readonly waitMs: number; readonly message: string }) => void;
}

export interface TriedResult {
  readonly execution: ExecutionResult;
  readonly retryCount: number;
}

/**
 * Calls a target until it answers, fails for good, or nobody waits any more; a wait between tries ends at once on abort.
 * No promise for one that answers at once.
 */
export function callUntilDone(
  call: TargetCall,
  rules: RetryRules,
  help: RetryHelp,
): Promise<TriedResult> | TriedResult {
  const { itemTimeoutMs } = rules;
  const execute = itemTimeoutMs === null ? executeTarget : withinLimit(itemTimeoutMs, help);
  const first = execute(call);
  const isAnswer = !(first instanceof Promise) && first.error === null;
  return isAnswer ? { execution: first, retryCount: 0 } : tryOn(first, () => execute(call), call.signal, rules, help);
}

async function tryOn(
  first: Promise<ExecutionResult> | ExecutionResult,
  execute: () => Promise<ExecutionResult> | ExecutionResult,
  signal: AbortSignal,
  rules: RetryRules,
  help: RetryHelp,
): Promise<TriedResult> {
  for (let retryCount = 0; ; retryCount++) {
    const execution = await (retryCount === 0 ? first : execute());
    const { error } = execution;
    if (error === null || retryCount >= rules.maxRetries || signal.aborted || !isTransientError(error))
      return { execution, retryCount };
    const waitMs = rules.retryDelayMs * 2 ** retryCount + help.random() * (rules.retryDelayMs / 2);
    help.onRetry({ tries: retryCount + 1, waitMs, message: error.message });
    const isOver = await help.clock.sleep(waitMs, signal).then(
      () => false,
      () => true,
    );
    if (isOver) return { execution, retryCount };
  }
}

/**
 * No timer fires while a target holds the thread, so that one which answers has its time looked up. What others held
 * before they first waited is not its time; what they hold later cannot be told apart.
 */
function withinLimit(limitMs: number, { clock, held }: RetryHelp): typeof executeTarget {
  const begin = clock.monotonic();
  let othersHeldMs = -held.ms;
  return async (call) => {
    othersHeldMs += held.ms;
    const work = held.during(() => executeTarget(call));
    othersHeldMs -= held.ms;
    const execution = await work;
    if (clock.monotonic() - begin - (othersHeldMs + held.ms) <= limitMs) return execution;
    const reason = exceeded(`item "${call.item.id}"`, limitMs);
    return failed(reason.message, reason);
  };
}
