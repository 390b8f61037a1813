/**
 * The promise's outcome, or the signal's reason as soon as it is aborted, even if the work ignores the signal.
 * What arrives after that is handed to `discard`, so that nothing it holds is lost.
 */
export function raceWithSignal<T>(work: Promise<T>, signal: AbortSignal, discard: (late: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const onAbort = (): void => {
      isOver = true;
      reject(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(
      (value) => {
        signal.removeEventListener("abort", onAbort);
        if (isOver) discard(value);
        else resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener("abort", onAbort);
        reject(error);
      },
    );
  });
}
