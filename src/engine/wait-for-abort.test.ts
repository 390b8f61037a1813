import { expect, test } from "vitest";
import { stopWaiting, waitForAbort } from "./wait-for-abort.ts";

test("whoever waits is told once, and whoever stopped waiting is not, in whatever order they leave", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const told: number[] = [];
  const waiters = [0, 1, 2, 3, 4].map((n) => waitForAbort(signal, () => told.push(n)));
  for (const n of [0, 3, 3]) {
    const waiter = waiters[n];
    if (waiter !== undefined) stopWaiting(signal, waiter);
  }
  controller.abort();
  for (const waiter of waiters) stopWaiting(signal, waiter);
  expect(told.toSorted((a, b) => a - b)).toEqual([1, 2, 4]);
});
