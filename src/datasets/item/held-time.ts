import type { Clock } from "../../base/clock.ts";

/** Adds up for how long the targets of a run held the thread before they first waited, so that it is nobody else's time. */
export class HeldTime {
  readonly #clock: Clock;
  #ms = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** All so far. */
  get ms(): number {
    return this.#ms;
  }

  /** Calls what may hold the thread. */
  during<T>(work: () => T): T {
    const begin = this.#clock.monotonic();
    const result = work();
    this.#ms += this.#clock.monotonic() - begin;
    return result;
  }
}
