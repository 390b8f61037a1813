import { stopWaiting, waitForAbort } from "./wait-for-abort.ts";

/**
 * The promise's outcome, or the signal's reason as soon as it is aborted, even if the work ignores the signal.
 * What arrives after that is handed to `discard`, so that nothing it holds is lost.
 */
export function raceWithSignal<T>(work: Promise<T>, signal: AbortSignal, discard: (late: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = signal.aborted;
    const onAbort = (): void => {
      isOver = true;
      reject(signal.reason);
    };
    if (isOver) onAbort();
    const waiter = isOver ? null : waitForAbort(signal, onAbort);
    work.then(
      (value) => {
        if (waiter !== null) stopWaiting(signal, waiter);
        if (isOver) discard(value);
        else resolve(value);
      },
      (error: unknown) => {
        if (waiter !== null) stopWaiting(signal, waiter);
        reject(error);
      },
    );
  });
}
