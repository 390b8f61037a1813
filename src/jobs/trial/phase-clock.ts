import type { Clock } from "../../base/clock.ts";

export const phaseNames = ["environment_setup", "agent_setup", "agent_execution", "verifier"] as const;
export type PhaseName = (typeof phaseNames)[number];

export interface PhaseTimes {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly durationMs: number;
}

/** Measures the phases of a try. A phase that was not reached has no times. */
export class PhaseClock {
  readonly #clock: Clock;
  readonly #onPhase: (phase: PhaseName) => void;
  readonly #times = new Map<PhaseName, PhaseTimes>();
  #open: { readonly phase: PhaseName; readonly startedAt: number; readonly from: number } | undefined;

  constructor(clock: Clock, onPhase: (phase: PhaseName) => void) {
    this.#clock = clock;
    this.#onPhase = onPhase;
  }

  get current(): PhaseName | null {
    return this.#open?.phase ?? null;
  }

  /** The phase that was reached last; null if there was none. */
  get last(): PhaseName | null {
    return this.current ?? phaseNames.findLast((phase) => this.#times.has(phase)) ?? null;
  }

  /** Ends the open phase, if there is one, and starts the next at the same instant. */
  begin(phase: PhaseName): void {
    const now = this.end();
    this.#open = { phase, startedAt: now, from: this.#clock.monotonic() };
    this.#onPhase(phase);
  }

  /** Records a phase with nothing to do: it starts and ends at the same instant. */
  pass(phase: PhaseName): void {
    const now = this.end();
    this.#times.set(phase, { startedAt: now, endedAt: now, durationMs: 0 });
  }

  /** Ends the open phase and returns the instant. */
  end(): number {
    const now = this.#clock.now();
    if (this.#open) {
      const { phase, startedAt, from } = this.#open;
      this.#times.set(phase, { startedAt, endedAt: now, durationMs: this.#clock.monotonic() - from });
      this.#open = undefined;
    }
    return now;
  }

  timesOf(phase: PhaseName): PhaseTimes | null {
    return this.#times.get(phase) ?? null;
  }
}
