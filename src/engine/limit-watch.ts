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
}

export interface LimitWatchOptions<Call extends LimitedCall> {
  readonly clock: Clock;
  /** Those that have not ended. */
  readonly calls: () => Iterable<Call>;
  /** Its limit has passed; it must be among the calls no more. */
  readonly onExceeded: (call: Call, reason: AbortReason) => void;
}

// Timers of the system count whole milliseconds, and so may come a part of one too early.
const slackMs = 1;

/** Watches over the limits of many calls with one timer: a timer and a signal for each would cost more than the calls. */
export class LimitWatch<Call extends LimitedCall> implements Disposable {
  readonly #options: LimitWatchOptions<Call>;
  #timer: Timer | null = null;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(options: LimitWatchOptions<Call>) {
    this.#options = options;
  }

  /** To be called when a call has begun. */
  begin({ dueAt }: Call): void {
    if (dueAt < this.#timerAt) this.#start(dueAt);
  }

  [Symbol.dispose](): void {
    this.#timer?.clear();
    this.#timer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #start(at: number): void {
    const { clock } = this.#options;
    this.#timer?.clear();
    this.#timerAt = at;
    this.#timer = clock.startTimer(Math.max(0, at - clock.monotonic()), () => this.#look());
  }

  /** The timer was set for the earliest of those days; many have ended since. */
  #look(): void {
    const { clock, calls, onExceeded } = this.#options;
    this[Symbol.dispose]();
    const now = clock.monotonic() + slackMs;
    for (const call of Array.from(calls()))
      if (call.dueAt <= now) onExceeded(call, exceeded(call.what, call.limitMs));
      else this.begin(call);
  }
}
