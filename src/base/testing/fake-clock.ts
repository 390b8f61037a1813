import { sleepOn, type Clock, type Timer } from "../clock.ts";

interface Pending {
  readonly at: number;
  readonly fire: () => void;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now: number;
  readonly #start: number;
  readonly #pending = new Set<Pending>();

  constructor(startIso = "2025-01-15T10:30:00Z") {
    this.#now = Date.parse(startIso);
    this.#start = this.#now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  startTimer(ms: number, fire: () => void): Timer {
    const entry = { at: this.#now + Math.max(0, ms), fire };
    this.#pending.add(entry);
    return { clear: () => this.#pending.delete(entry) };
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** How many timers wait; zero after a run means that none was leaked. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the next timer fires. */
  get nextTimerMs(): number | undefined {
    const times = [...this.#pending].map((entry) => entry.at);
    return times.length === 0 ? undefined : Math.min(...times) - this.#now;
  }

  /** Moves time on, firing what falls due in order and letting promises settle between. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = [...this.#pending].filter((entry) => entry.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#pending.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fire();
      await settle();
    }
    this.#now = end;
  }
}

/** Lets everything that is ready run, promises and I/O callbacks included. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
