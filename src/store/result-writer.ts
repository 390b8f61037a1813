import type { Clock, Timer } from "../base/clock.ts";
import { messageOf, RolloutError } from "../base/rollout-error.ts";
import { AbortReason } from "../engine/abort-reason.ts";
import type { ResultBatch, RunHold, StoredResult, StoredScore } from "./run-store.ts";

/** A result with scores of it, or scores of one that was given before. */
export interface UnitWrite {
  readonly result: StoredResult | null;
  readonly scores: readonly StoredScore[];
}

interface Waiting {
  readonly unit: UnitWrite;
  /** Told null when it is committed, else why it is not. */
  readonly settle: (failure: string | null) => void;
}

// A store that says it is busy is asked again after these waits.
const retryWaitsMs: readonly number[] = [50, 200, 1000];
// A store that does not answer at all must not hold a run for ever.
const longestWriteMs = 60_000;

/** Commits results in groups: all that are ready when a write begins go together, so that none waits longer than one write. */
export class ResultWriter implements Disposable {
  readonly #hold: RunHold;
  readonly #clock: Clock;
  readonly #inFlight: number;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #soon: NodeJS.Immediate | null = null;
  #underway: { readonly since: number; readonly giveUp: (error: Error) => void } | null = null;
  #watch: Timer | null = null;

  /** At most `inFlight` results wait at a time. */
  constructor(hold: RunHold, clock: Clock, inFlight: number) {
    this.#hold = hold;
    this.#clock = clock;
    this.#inFlight = inFlight;
  }

  /** Resolves when the result is committed, with null, or with the reason why it is not. */
  add(unit: UnitWrite): Promise<string | null> {
    return new Promise((settle) => {
      this.#waiting.push({ unit, settle });
      if (this.#isWriting) return;
      // Whatever else gets ready in this turn of the event loop joins in; with all of them here there is nothing else.
      if (this.#waiting.length >= this.#inFlight) this.#start();
      else this.#soon ??= setImmediate(() => this.#start());
    });
  }

  /** To be called when nothing is added any more. */
  [Symbol.dispose](): void {
    this.#watch?.clear();
  }

  #start(): void {
    if (this.#soon !== null) clearImmediate(this.#soon);
    this.#soon = null;
    this.#isWriting = true;
    void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      await this.#writeGroup(group);
    }
    this.#isWriting = false;
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    try {
      await this.#writePatiently(merge(group));
      for (const { settle } of group) settle(null);
    } catch (thrown) {
      const [only] = group;
      if (only !== undefined && group.length === 1) only.settle(messageOf(thrown));
      // One result that the store refuses must not take the others with it.
      else for (const waiting of group) await this.#writeGroup([waiting]);
    }
  }

  async #writePatiently(batch: ResultBatch): Promise<void> {
    for (const waitMs of retryWaitsMs) {
      try {
        return await this.#writeOnce(batch);
      } catch (thrown) {
        if (!(thrown instanceof RolloutError && thrown.transient)) throw thrown;
        await this.#clock.sleep(waitMs, new AbortController().signal);
      }
    }
    await this.#writeOnce(batch);
  }

  #writeOnce(batch: ResultBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#underway = { since: this.#clock.monotonic(), giveUp: reject };
      this.#watch ??= this.#clock.startTimer(longestWriteMs, () => this.#lookAfterWrite());
      this.#hold.write(batch).then(resolve, reject);
    }).finally(() => (this.#underway = null)) as Promise<void>;
  }

  // One timer looks after all writes: one for each would cost more than a small write does.
  #lookAfterWrite(): void {
    this.#watch = null;
    if (this.#underway === null) return;
    const { since, giveUp } = this.#underway;
    const leftMs = longestWriteMs - (this.#clock.monotonic() - since);
    if (leftMs > 0) this.#watch = this.#clock.startTimer(leftMs, () => this.#lookAfterWrite());
    else
      giveUp(
        new AbortReason(
          "deadline",
          `storing a result exceeded its limit of ${longestWriteMs / 1000} seconds`,
          longestWriteMs,
        ),
      );
  }
}

function merge(group: readonly Waiting[]): ResultBatch {
  return { results: group.flatMap(({ unit }) => unit.result ?? []), scores: group.flatMap(({ unit }) => unit.scores) };
}
