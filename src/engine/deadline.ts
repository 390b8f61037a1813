import type { Clock } from "../base/clock.ts";
import { AbortReason } from "./abort-reason.ts";

/** A running limit; dispose it when the work it bounds is over. */
export interface Deadline extends Disposable {
  /** Aborted by the limit or by the parent, whichever comes first; its reason says which. */
  readonly signal: AbortSignal;
}

export interface DeadlineOptions {
  readonly clock: Clock;
  /** Null bounds nothing and only follows the parent. */
  readonly limitMs: number | null;
  readonly parent: AbortSignal | null;
  /** What is bounded, for the reason: `agent execution`. */
  readonly what: string;
}

/** The reason of what took longer than its limit. */
export function exceeded(what: string, limitMs: number): AbortReason {
  return new AbortReason("deadline", `${what} exceeded its limit of ${limitMs / 1000} seconds`, limitMs);
}

/** Turns a limit into a signal; the only place where that happens. */
export function startDeadline(options: DeadlineOptions): Deadline {
  const { clock, limitMs, parent, what } = options;
  const controller = new AbortController();
  const follow = (): void => controller.abort(parent?.reason);
  if (parent?.aborted) follow();
  else parent?.addEventListener("abort", follow, { once: true });
  const timer =
    limitMs === null
      ? undefined
      : clock.startTimer(limitMs, () => {
          controller.abort(exceeded(what, limitMs));
        });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      timer?.clear();
      parent?.removeEventListener("abort", follow);
    },
  };
}
