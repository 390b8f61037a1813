import type { Clock } from "../../base/clock.ts";
import type { DiscoverAnswer } from "../protocol.ts";
import { ExecutorLost, type Executor } from "./executor.ts";

/** An executor that can be waited for to end. */
export interface PoolMember extends Executor {
  readonly gone: Promise<string>;
  /** It may still be busy with what nobody waits for; resolves once it is not. Null when it is free. */
  readonly owing: Promise<void> | null;
  /** Resolves when it holds on to something that it should have let go. */
  readonly stuck: Promise<void>;
}

export interface PoolOptions {
  readonly processes: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly start: () => Promise<PoolMember>;
  readonly onRestart: (how: string) => void;
}

interface Seat {
  executor: PoolMember | null;
  load: number;
  /** Somebody has it for himself. */
  isTaken: boolean;
  /** It is replaced once nobody needs it any more. */
  isLeaving: boolean;
  failedStarts: number;
}

interface Waiting {
  readonly wantsAlone: boolean;
  readonly resolve: (seat: Seat) => void;
  readonly reject: (error: unknown) => void;
}

const mostCrashes = 3;
const mostFailedStarts = 5;
const firstWaitMs = 100;
const longestWaitMs = 10_000;

/**
 * Several executors of one kind. One that is lost is started again, and what it was doing is done again: alone from then
 * on, so that what takes executors down is found out and harms nothing else.
 */
export class ExecutorPool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #seats: Seat[];
  readonly #crashes = new Map<string, number>();
  #waiting: Waiting[] = [];
  #discovered: DiscoverAnswer | null = null;
  #broken: unknown = null;
  #isClosing = false;

  private constructor(options: PoolOptions) {
    this.#options = options;
    this.#seats = Array.from({ length: options.processes }, () => ({
      executor: null,
      load: 0,
      isTaken: false,
      isLeaving: false,
      failedStarts: 0,
    }));
  }

  /** Starts all of them; rejects when one cannot be started. */
  static async open(options: PoolOptions): Promise<ExecutorPool> {
    const pool = new ExecutorPool(options);
    const started = await Promise.allSettled(pool.#seats.map((seat) => pool.#fill(seat)));
    const failed = started.find((result) => result.status === "rejected");
    if (failed === undefined) return pool;
    await pool[Symbol.asyncDispose]();
    throw failed.reason;
  }

  /** What they all have. */
  get discovered(): DiscoverAnswer {
    if (this.#discovered === null) throw new ExecutorLost("no executor is there");
    return this.#discovered;
  }

  /** Has an executor do something, again when it is lost meanwhile; rejects once the same thing has lost it too often. */
  call<T>(what: string, signal: AbortSignal, work: (executor: Executor) => Promise<T>): Promise<T> {
    const seat = this.#crashes.size === 0 && !signal.aborted ? this.#sitAtOnce(false) : null;
    if (seat === null || seat.executor === null) return this.#callAgain(what, signal, work);
    // The usual case needs no function that can wait.
    return work(seat.executor).then(
      (answer) => {
        this.#leave(seat);
        return answer;
      },
      (error: unknown) => {
        try {
          this.#countLoss(what, error);
        } finally {
          this.#leave(seat);
        }
        return this.#callAgain(what, signal, work);
      },
    );
  }

  async #callAgain<T>(what: string, signal: AbortSignal, work: (executor: Executor) => Promise<T>): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#broken !== null) throw this.#broken;
      const wantsAlone = this.#crashes.has(what);
      const seat = this.#sitAtOnce(wantsAlone) ?? (await this.#waitForSeat(wantsAlone, signal));
      try {
        // It may be lost between the seat and the call; nothing has been asked of it then.
        if (seat.executor !== null) return await work(seat.executor);
      } catch (error) {
        this.#countLoss(what, error);
      } finally {
        this.#leave(seat);
      }
    }
  }

  /** Throws what is no loss of an executor, and the one loss that is too many. */
  #countLoss(what: string, error: unknown): void {
    if (!(error instanceof ExecutorLost)) throw error;
    const crashes = (this.#crashes.get(what) ?? 0) + 1;
    this.#crashes.set(what, crashes);
    if (crashes >= mostCrashes) throw new ExecutorLost(`the executor was lost ${crashes} times: ${error.message}`);
  }

  async shutdown(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#seats.map(async (seat) => seat.executor?.shutdown()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#seats.map(async (seat) => seat.executor?.[Symbol.asyncDispose]()));
  }

  /** The usual case, without a wait. */
  #sitAtOnce(wantsAlone: boolean): Seat | null {
    const seat = this.#broken === null && this.#waiting.length === 0 ? this.#findSeat(wantsAlone) : null;
    return seat === null ? null : take(seat, wantsAlone);
  }

  async #waitForSeat(wantsAlone: boolean, signal: AbortSignal): Promise<Seat> {
    const { promise, resolve, reject } = Promise.withResolvers<Seat>();
    const waiting = { wantsAlone, resolve, reject };
    const onAbort = (): void => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      reject(signal.reason);
    };
    this.#waiting.push(waiting);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#seatNext();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #leave(seat: Seat): void {
    seat.load--;
    seat.isTaken = false;
    this.#replaceStuck(seat);
    void seat.executor?.owing?.then(() => this.#seatNext());
    this.#seatNext();
  }

  /** What others are doing there is finished first. */
  #replaceStuck(seat: Seat): void {
    if (seat.isLeaving && seat.load === 0 && !this.#isClosing) void seat.executor?.[Symbol.asyncDispose]();
  }

  /** Whoever wants to be alone goes first, and the emptiest seat is kept free for him. */
  #seatNext(): void {
    if (this.#waiting.length === 0) return;
    for (const wantsAlone of [true, false]) {
      for (const waiting of this.#waiting.filter((one) => one.wantsAlone === wantsAlone)) {
        const seat = this.#findSeat(wantsAlone);
        if (seat === null) break;
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        waiting.resolve(take(seat, wantsAlone));
      }
    }
  }

  #findSeat(wantsAlone: boolean): Seat | null {
    let best: Seat | null = null;
    let second: Seat | null = null;
    for (const seat of this.#seats) {
      if (seat.executor === null || seat.isTaken || seat.isLeaving || seat.executor.owing !== null) continue;
      if (best === null || seat.load < best.load) [best, second] = [seat, best];
      else if (second === null || seat.load < second.load) second = seat;
    }
    if (wantsAlone) return best?.load === 0 ? best : null;
    return (this.#waiting.some((waiting) => waiting.wantsAlone) ? second : best) ?? null;
  }

  async #fill(seat: Seat): Promise<void> {
    const executor = await this.#options.start();
    seat.executor = executor;
    this.#discovered ??= executor.discovered;
    seat.failedStarts = 0;
    seat.isLeaving = false;
    void executor.stuck.then(() => {
      if (seat.executor !== executor) return;
      seat.isLeaving = true;
      this.#replaceStuck(seat);
    });
    void executor.gone.then((how) => this.#refill(seat, how));
    this.#seatNext();
  }

  async #refill(seat: Seat, how: string): Promise<void> {
    seat.executor = null;
    if (this.#isClosing || this.#options.signal.aborted) return;
    this.#options.onRestart(seat.isLeaving ? "it did not let go of something that took too long" : how);
    for (;;) {
      try {
        await this.#options.clock.sleep(
          Math.min(firstWaitMs * 2 ** seat.failedStarts, longestWaitMs),
          this.#options.signal,
        );
        return await this.#fill(seat);
      } catch (error) {
        if (this.#options.signal.aborted || this.#isClosing) return;
        if (++seat.failedStarts >= mostFailedStarts) return this.#breakDown(error);
      }
    }
  }

  #breakDown(error: unknown): void {
    this.#broken = error;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

function take(seat: Seat, wantsAlone: boolean): Seat {
  seat.load++;
  seat.isTaken = wantsAlone;
  return seat;
}
