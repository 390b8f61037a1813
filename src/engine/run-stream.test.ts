import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "../base/clock.ts";
import { runStream, type StreamOptions } from "./run-stream.ts";

const never = new AbortController().signal;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function stream(
  count: number,
  limit: number,
  run: (unit: number) => Promise<void>,
  extra: Partial<StreamOptions<number>> = {},
): Promise<void> {
  let at = 0;
  const next = (): number | null => (at < count ? at++ : null);
  return runStream({ next, limit, run, signal: never, clock: systemClock, ...extra });
}

test("every unit runs exactly once, never more than the limit at a time", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 9 }), async (count, limit) => {
      const seen: number[] = [];
      let running = 0;
      let most = 0;
      await stream(count, limit, async (unit) => {
        most = Math.max(most, ++running);
        seen.push(unit);
        await tick();
        running--;
      });
      expect(seen).toEqual(Array.from({ length: count }, (_, at) => at));
      expect(most).toBe(Math.min(count, limit));
    }),
    { numRuns: 40 },
  );
});

test("an abort stops the taking and waits for what runs", async () => {
  const stop = new AbortController();
  const ended: number[] = [];
  await stream(
    10,
    2,
    async (unit) => {
      if (unit === 3) stop.abort();
      await tick();
      ended.push(unit);
    },
    { signal: stop.signal },
  );
  expect(ended).toEqual([0, 1, 2, 3]);
});

test("a source that fails ends the stream once the others are done", async () => {
  let ended = 0;
  const work = runStream<number>({
    next: async () => {
      if (ended === 0) await tick();
      if (ended >= 2) throw new Error("gone");
      return 1;
    },
    limit: 2,
    signal: never,
    clock: systemClock,
    run: async () => {
      await tick();
      ended++;
    },
  });
  await expect(work).rejects.toThrow("gone");
});

test("a unit that rejects ends the stream once the others are done", async () => {
  const ended: number[] = [];
  const work = stream(9, 3, async (unit) => {
    if (unit === 1) throw new Error("bug");
    await tick();
    ended.push(unit);
  });
  await expect(work).rejects.toThrow("bug");
  expect(ended.slice(0, 2)).toEqual([0, 2]);
});

test("units that never wait leave the process time for its timers", async () => {
  let fired = 0;
  const timer = setInterval(() => fired++, 1);
  const latest = performance.now() + 10_000;
  await stream(Number.POSITIVE_INFINITY, 3, async () => {}, {
    next: () => (fired <= 2 && performance.now() < latest ? 1 : null),
  });
  clearInterval(timer);
  expect(fired).toBeGreaterThan(2);
});

test("however many run at once, what never waits is stopped for a turn of the event loop after the same time", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonic: () => nowMs };
  const runs: number[] = [];
  let sinceTurn = 0;
  let isWatching = true;
  const watch = (): void => {
    runs.push(sinceTurn);
    sinceTurn = 0;
    if (isWatching) setImmediate(watch);
  };
  setImmediate(watch);
  const run = async (): Promise<void> => {
    sinceTurn++;
    nowMs++;
  };
  await stream(1000, 50, run, { clock });
  isWatching = false;
  // Five units take the time of a turn; those that were under way by then come to their end.
  expect(Math.max(...runs)).toBeLessThanOrEqual(60);
});
