import type { Clock, Timer } from "../base/clock.ts";
import type { AbortReason } from "./abort-reason.ts";
import { exceeded } from "./deadline.ts";

/** Something that may take only so long. */
export interface LimitedCall {
  /** On the clock that never jumps. */
  readonly dueAt: number;
  readonly limitMs: number;
  /** What is bounded, for the reason: `the task`. */
  readonly what: string;
  readonly onExceeded: (reason: AbortReason) => void;
}

// Timers of the system count whole milliseconds, and so may come a part of one too early.
const slackMs = 1;

/** Watches over the limits of many calls with one timer: a timer and a signal for each would cost more than the calls. */
export class LimitWatch implements Disposable {
  readonly #clock: Clock;
  readonly #calls = new Set<LimitedCall>();
  #timer: Timer | null = null;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From now on the call is told when its limit has passed, until it is taken out. */
  add(call: LimitedCall): void {
    this.#calls.add(call);
    if (call.dueAt < this.#timerAt) this.#start(call.dueAt);
  }

  delete(call: LimitedCall): void {
    this.#calls.delete(call);
  }

  [Symbol.dispose](): void {
    this.#calls.clear();
    this.#stop();
  }

  #start(at: number): void {
    this.#timer?.clear();
    this.#timerAt = at;
    this.#timer = this.#clock.startTimer(Math.max(0, at - this.#clock.monotonic()), () => this.#look());
  }

  #stop(): void {
    this.#timer?.clear();
    this.#timer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  /** The timer was set for the earliest of those days; many have ended since. */
  #look(): void {
    this.#stop();
    const now = this.#clock.monotonic() + slackMs;
    const due = Array.from(this.#calls).filter((call) => call.dueAt <= now);
    for (const call of due) {
      this.#calls.delete(call);
      call.onExceeded(exceeded(call.what, call.limitMs));
    }
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#calls) next = Math.min(next, dueAt);
    if (next < this.#timerAt) this.#start(next);
  }
}
