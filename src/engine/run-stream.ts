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
const longestTurnMs = 2;

/** Runs units as they come, at most `limit` at a time, in bounded memory however many there are. */
export async function runStream<Unit>({ next, limit, signal, clock, run }: StreamOptions<Unit>): Promise<void> {
  const failures: unknown[] = [];
  let isOver = false;
  let asking: Promise<unknown> | null = null;
  let turning: Promise<void> | null = null;
  let turnBegan = clock.monotonic();

  async function work(): Promise<void> {
    for (;;) {
      // Most units are at hand; only the others have to be waited for, and by all.
      const answer = asking === null ? take() : ask();
      const unit = answer instanceof Promise ? await answer : answer;
      if (unit === null || signal.aborted) return;
      await run(unit);
      if (clock.monotonic() - turnBegan >= longestTurnMs) await turn();
    }
  }

  // One turn for all: were each to wait for its own, they would go on one after the other, each for as long as all may.
  function turn(): Promise<void> {
    turning ??= setImmediate().then(() => {
      turning = null;
      turnBegan = clock.monotonic();
    });
    return turning;
  }

  async function ask(): Promise<Unit | null> {
    for (let earlier = asking; earlier !== null; earlier = asking) await earlier;
    return await take();
  }

  function take(): Promise<Unit | null> | Unit | null {
    if (isOver || signal.aborted) return null;
    try {
      const answer = next();
      if (answer instanceof Promise) return waitFor(answer);
      if (answer === null) isOver = true;
      return answer;
    } catch (error) {
      return giveUp(error);
    }
  }

  function waitFor(answer: Promise<Unit | null>): Promise<Unit | null> {
    const waited = answer.catch(giveUp).then((unit) => {
      asking = null;
      if (unit === null) isOver = true;
      return unit;
    });
    asking = waited;
    return waited;
  }

  function giveUp(error: unknown): null {
    isOver = true;
    failures.push(error);
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
