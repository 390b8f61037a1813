import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import type { Clock, Timer } from "../base/clock.ts";

// With more room for new objects a long run gets no faster, and the caches of a processor hold less of it.
const enoughBytes = 16 << 20;
const lookEveryMs = 50;

/**
 * Keeps the room that V8 gives to new objects from growing to 128 MiB, as it does in every run that is long enough, until
 * it is disposed. A flag of V8 that says so from the start would have to stand in the command that starts the process.
 */
export function boundYoungGeneration(clock: Clock): Disposable {
  let timer: Timer | null = null;
  const look = (): void => {
    const isEnough = youngBytes() >= enoughBytes;
    timer = isEnough ? null : clock.startTimer(lookEveryMs, look);
    if (isEnough) setFlagsFromString("--semi-space-growth-factor=1");
  };
  look();
  return { [Symbol.dispose]: () => timer?.clear() };
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0;
}
