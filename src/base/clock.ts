/** A timer that can be taken back. */
export interface Timer {
  clear(): void;
}

/** The only source of time in the house, so that tests can move it. */
export interface Clock {
  /** Milliseconds since the epoch, for timestamps. */
  now(): number;
  /** Milliseconds that never jump, for durations. */
  monotonic(): number;
  startTimer(ms: number, fire: () => void): Timer;
  /** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

// setTimeout fires at once above this; longer waits are made of several.
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  startTimer: startSystemTimer,
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
};

function startSystemTimer(ms: number, fire: () => void): Timer {
  let handle: NodeJS.Timeout;
  const wait = (left: number): void => {
    const step = Math.min(left, longestTimerMs);
    handle = setTimeout(() => (left > step ? wait(left - step) : fire()), step);
  };
  wait(Math.max(0, ms));
  return { clear: () => clearTimeout(handle) };
}

/** Sleep built on a clock's own timer; shared by the real clock and the fake one. */
export function sleepOn(clock: Pick<Clock, "startTimer">, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      timer.clear();
      reject(signal.reason);
    };
    const timer = clock.startTimer(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
