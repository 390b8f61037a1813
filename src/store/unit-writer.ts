import type { Clock, Timer } from "../base/clock.ts";
import { messageOf, RolloutError } from "../base/rollout-error.ts";
import { AbortReason } from "../engine/abort-reason.ts";
import type { Unit } from "./run.ts";
import type { RunLease } from "./run-store.ts";

interface PendingUnit {
  readonly unit: Unit;
  /** Called with null when the unit is stored, else with the reason why it is not. */
  readonly settle: (failure: string | null) => void;
}

// Delays before a write that failed with a transient error is repeated.
const retryDelaysMs: readonly number[] = [50, 200, 1000];
const maxWriteMs = 60_000;

/** Stores units in groups. All units that are ready when a write starts go together, so no unit waits longer than one write. */
export class UnitWriter implements Disposable {
  readonly #lease: Pick<RunLease, "write">;
  readonly #clock: Clock;
  readonly #maxPending: number;
  #pending: PendingUnit[] = [];
  #isWriting = false;
  #scheduled: NodeJS.Immediate | null = null;
  #current: { readonly startedAt: number; readonly abandon: (error: Error) => void } | null = null;
  #deadline: Timer | null = null;

  /** `maxPending`: the number of units that can wait at a time, usually the concurrency of the run. */
  constructor(lease: Pick<RunLease, "write">, clock: Clock, maxPending: number) {
    this.#lease = lease;
    this.#clock = clock;
    this.#maxPending = maxPending;
  }

  /** Resolves with null when the unit is stored, or with the reason why it cannot be stored. Never rejects. */
  add(unit: Unit): Promise<string | null> {
    return new Promise((settle) => {
      this.#pending.push({ unit, settle });
      if (this.#isWriting) return;
      // Units that get ready in the same turn of the event loop join the group. When all are here, there is no reason to wait.
      if (this.#pending.length >= this.#maxPending) this.#start();
      else this.#scheduled ??= setImmediate(() => this.#start());
    });
  }

  /** Call it after the last `add` has settled. */
  [Symbol.dispose](): void {
    this.#deadline?.clear();
  }

  #start(): void {
    if (this.#scheduled !== null) clearImmediate(this.#scheduled);
    this.#scheduled = null;
    this.#isWriting = true;
    void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    while (this.#pending.length > 0) {
      const group = this.#pending;
      this.#pending = [];
      await this.#writeGroup(group);
    }
    this.#isWriting = false;
  }

  async #writeGroup(group: readonly PendingUnit[]): Promise<void> {
    try {
      await this.#writeWithRetries(lastOfEachIndex(group));
      for (const { settle } of group) settle(null);
    } catch (thrown) {
      const [only] = group;
      if (only !== undefined && group.length === 1) only.settle(messageOf(thrown));
      // A unit that the store refuses must not fail the others of its group.
      else for (const pending of group) await this.#writeGroup([pending]);
    }
  }

  async #writeWithRetries(units: readonly Unit[]): Promise<void> {
    for (const delayMs of retryDelaysMs) {
      try {
        return await this.#writeOnce(units);
      } catch (thrown) {
        if (!(thrown instanceof RolloutError && thrown.transient)) throw thrown;
        await this.#clock.sleep(delayMs, new AbortController().signal);
      }
    }
    await this.#writeOnce(units);
  }

  #writeOnce(units: readonly Unit[]): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#current = { startedAt: this.#clock.monotonic(), abandon: reject };
      this.#deadline ??= this.#clock.startTimer(maxWriteMs, () => this.#checkDeadline());
      this.#lease.write(units).then(resolve, reject);
    }).finally(() => (this.#current = null));
  }

  // One timer serves all writes: a timer for each would cost more than a small write does.
  #checkDeadline(): void {
    this.#deadline = null;
    if (this.#current === null) return;
    const { startedAt, abandon } = this.#current;
    const leftMs = maxWriteMs - (this.#clock.monotonic() - startedAt);
    if (leftMs > 0) this.#deadline = this.#clock.startTimer(leftMs, () => this.#checkDeadline());
    else {
      const message = `storing a unit exceeded its limit of ${maxWriteMs / 1000} seconds`;
      abandon(new AbortReason("deadline", message, maxWriteMs));
    }
  }
}

function lastOfEachIndex(group: readonly PendingUnit[]): readonly Unit[] {
  return [...new Map(group.map(({ unit }) => [unit.index, unit])).values()];
}
