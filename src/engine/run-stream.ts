import { setImmediate } from "node:timers/promises";
import type { Clock } from "../base/clock.ts";

export interface StreamOptions<Unit> {
  /** The next unit, null at the end. Never asked twice at a time, nor after it rejected. */
  readonly next: () => Promise<Unit | null> | Unit | null;
  readonly limit: number;
  /** Once aborted no unit is taken any more; those that run are waited for. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Must not reject; what it rejects with stops the stream and is thrown when the others are done. */
  readonly run: (unit: Unit) => Promise<void>;
}

// Work that never waits for anything outside would keep timers and sockets of its process waiting.
const longestTurnMs = 5;

/** Runs units as they come, at most `limit` at a time, in bounded memory however many there are. */
export async function runStream<Unit>({ next, limit, signal, clock, run }: StreamOptions<Unit>): Promise<void> {
  const failures: unknown[] = [];
  let isOver = false;
  let asking: Promise<Unit | null> = Promise.resolve(null);
  let turnBegan = clock.monotonic();

  async function work(): Promise<void> {
    for (;;) {
      const unit = await ask();
      if (unit === null || signal.aborted) return;
      await run(unit);
      if (clock.monotonic() - turnBegan < longestTurnMs) continue;
      await setImmediate();
      turnBegan = clock.monotonic();
    }
  }

  function ask(): Promise<Unit | null> {
    asking = askAfter(asking);
    return asking.then(ended, failed);
  }

  async function askAfter(earlier: Promise<Unit | null>): Promise<Unit | null> {
    await earlier;
    return isOver || signal.aborted ? null : await next();
  }

  function ended(unit: Unit | null): Unit | null {
    if (unit === null) isOver = true;
    return unit;
  }

  function failed(error: unknown): null {
    if (!isOver) failures.push(error);
    isOver = true;
    return null;
  }

  async function guarded(): Promise<void> {
    try {
      await work();
    } catch (error) {
      isOver = true;
      failures.push(error);
    }
  }

  await Promise.all(Array.from({ length: limit }, guarded));
  if (failures.length > 0) throw failures[0];
}
