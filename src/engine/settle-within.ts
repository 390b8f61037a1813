import type { Clock } from "../base/clock.ts";
import { raceWithSignal } from "./race-with-signal.ts";

/** The work's own outcome; once the signal is aborted it has `graceMs` to settle, then the signal's reason is thrown without it. */
export async function settleWithin<T>(
  work: Promise<T>,
  signal: AbortSignal,
  clock: Clock,
  graceMs: number,
): Promise<T> {
  const gaveUp = new AbortController();
  let timer: { clear(): void } | undefined;
  const onAbort = (): void => {
    timer = clock.startTimer(graceMs, () => gaveUp.abort(signal.reason));
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await raceWithSignal(work, gaveUp.signal, () => {});
  } finally {
    timer?.clear();
    signal.removeEventListener("abort", onAbort);
  }
}
