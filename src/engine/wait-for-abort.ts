/** Somebody who waits for a signal to be aborted. */
export interface AbortWaiter {
  readonly onAbort: () => void;
  /** Where it stands among those who wait. */
  at: number;
}

// A plain list, from which the last one takes the place of whoever leaves: a set would leave tables behind as it turns over,
// and what they still point to would outlive the item it belonged to.
const waiting = new WeakMap<AbortSignal, AbortWaiter[]>();

/**
 * Calls `onAbort` once the signal is aborted, unless the waiter stops waiting before. All who wait for a signal share one
 * listener of it: one for each would cost more than most of what is waited for.
 */
export function waitForAbort(signal: AbortSignal, onAbort: () => void): AbortWaiter {
  let waiters = waiting.get(signal);
  if (waiters === undefined) waiting.set(signal, (waiters = listenTo(signal)));
  const waiter = { onAbort, at: waiters.length };
  waiters.push(waiter);
  return waiter;
}

/** Takes a waiter back; one that was told already stays told. */
export function stopWaiting(signal: AbortSignal, waiter: AbortWaiter): void {
  const waiters = waiting.get(signal);
  if (waiters === undefined || waiters[waiter.at] !== waiter) return;
  const last = waiters.pop();
  if (last === undefined || last === waiter) return;
  waiters[waiter.at] = last;
  last.at = waiter.at;
}

function listenTo(signal: AbortSignal): AbortWaiter[] {
  const waiters: AbortWaiter[] = [];
  const tellAll = (): void => {
    for (const { onAbort } of waiters.splice(0)) onAbort();
  };
  signal.addEventListener("abort", tellAll, { once: true });
  return waiters;
}
