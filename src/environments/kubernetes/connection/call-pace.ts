import type { Clock } from "../../../base/clock.ts";

export interface PaceLimits {
  /** Calls per second in the long run. */
  readonly callsPerSecond: number;
  /** Calls that may come at once after a rest. */
  readonly burst: number;
}

/** Keeps calls at a pace that a shared API server can bear; those that come too early wait their turn. */
export class CallPace {
  readonly #stepMs: number;
  readonly #burst: number;
  readonly #clock: Clock;
  /** When the bucket would have been full, had nobody taken anything since. */
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor({ callsPerSecond, burst }: PaceLimits, clock: Clock) {
    this.#stepMs = 1000 / callsPerSecond;
    this.#burst = burst;
    this.#clock = clock;
  }

  async take(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonic();
    const turnMs = Math.max(this.#nextMs, nowMs - (this.#burst - 1) * this.#stepMs);
    this.#nextMs = turnMs + this.#stepMs;
    if (turnMs > nowMs) await this.#clock.sleep(turnMs - nowMs, signal);
  }
}
