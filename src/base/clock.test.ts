import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "./clock.ts";
import { FakeClock } from "./testing/fake-clock.ts";

const day = 24 * 3_600_000;

describe("the system clock", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("a timer of a hundred days fires after a hundred days and not before", () => {
    let fired = 0;
    systemClock.startTimer(100 * day, () => fired++);
    vi.advanceTimersByTime(100 * day - 1);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([2 ** 31 - 2, 2 ** 31 - 1, 2 ** 31, 2 ** 32])("a timer of %d ms fires exactly then", (ms) => {
    let fired = 0;
    systemClock.startTimer(ms, () => fired++);
    vi.advanceTimersByTime(ms - 1);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
  });

  test("a long timer can be taken back after its first stretch", () => {
    let fired = 0;
    const timer = systemClock.startTimer(60 * day, () => fired++);
    vi.advanceTimersByTime(30 * day);
    timer.clear();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(60 * day);
    expect(fired).toBe(0);
  });

  test("a timer of less than nothing fires on the next turn", () => {
    let fired = 0;
    systemClock.startTimer(-5, () => fired++);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
  });

  test("an aborted sleep rejects with the reason and leaves neither timer nor listener", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const sleeping = systemClock.sleep(60 * day, controller.signal);
    expect(vi.getTimerCount()).toBe(1);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  test("a sleep that was aborted before it began starts no timer", async () => {
    await expect(systemClock.sleep(1000, AbortSignal.abort("no"))).rejects.toBe("no");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a sleep that ended has taken its listener back", async () => {
    const { signal } = new AbortController();
    const sleeping = systemClock.sleep(1000, signal);
    vi.advanceTimersByTime(1000);
    await sleeping;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

test("the system clock tells the time of day and never runs backwards", () => {
  const before = Date.now();
  expect(systemClock.now()).toBeGreaterThanOrEqual(before);
  const first = systemClock.monotonic();
  expect(systemClock.monotonic()).toBeGreaterThanOrEqual(first);
});

describe("the fake clock", () => {
  test("stands still until it is moved", async () => {
    const clock = new FakeClock("2025-01-15T10:30:00Z");
    expect(new Date(clock.now()).toISOString()).toBe("2025-01-15T10:30:00.000Z");
    await clock.advance(1500);
    expect(clock.monotonic()).toBe(1500);
    expect(new Date(clock.now()).toISOString()).toBe("2025-01-15T10:30:01.500Z");
  });

  test("fires what falls due in order, also what was started on the way", async () => {
    const clock = new FakeClock();
    const seen: string[] = [];
    clock.startTimer(200, () => seen.push(`b@${clock.monotonic()}`));
    clock.startTimer(100, () => {
      seen.push(`a@${clock.monotonic()}`);
      clock.startTimer(50, () => seen.push(`c@${clock.monotonic()}`));
    });
    clock.startTimer(301, () => seen.push("late"));
    await clock.advance(300);
    expect(seen).toEqual(["a@100", "c@150", "b@200"]);
    expect(clock.pendingTimers).toBe(1);
    expect(clock.nextTimerMs).toBe(1);
  });

  test("a sleep on it ends when time has passed, or at once on abort", async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const long = clock.sleep(10 * day, new AbortController().signal);
    const cut = clock.sleep(10 * day, controller.signal);
    controller.abort("stop");
    await expect(cut).rejects.toBe("stop");
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(10 * day);
    await long;
    expect(clock.pendingTimers).toBe(0);
    expect(clock.nextTimerMs).toBeUndefined();
  });
});
