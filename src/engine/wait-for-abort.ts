const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `listener` once the signal is aborted, unless it was taken out of the set before. All who wait for a signal share
 * one listener of it: one for each would cost more than most of what is waited for.
 */
export function waitForAbort(signal: AbortSignal, listener: () => void): Set<() => void> {
  let listeners = waiting.get(signal);
  if (listeners === undefined) waiting.set(signal, (listeners = listenTo(signal)));
  listeners.add(listener);
  return listeners;
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>();
  const tellAll = (): void => {
    const told = [...listeners];
    listeners.clear();
    for (const listener of told) listener();
  };
  signal.addEventListener("abort", tellAll, { once: true });
  return listeners;
}
