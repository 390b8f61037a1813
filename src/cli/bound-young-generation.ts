import type { Clock, Timer } from "../base/clock.ts";

// With more room for new objects a long run gets no faster, and the caches of a processor hold less of it.
const enoughBytes = 8 << 20;
const lookEveryMs = 50;

/**
 * Keeps the room that V8 gives to new objects from growing to 128 MiB, as it does in every run that is long enough, until
 * it is disposed. A flag of V8 that says so from the start would have to stand in the command that starts the process.
 */
export function boundYoungGeneration(clock: Clock): Disposable {
  let timer: Timer | null = clock.startTimer(lookEveryMs, () => void begin());
  const begin = async (): Promise<void> => {
    // Not before: it is one of the slower modules to load, and a short run needs none of it.
    const { getHeapSpaceStatistics, setFlagsFromString } = await import("node:v8");
    const look = (): void => {
      const young = getHeapSpaceStatistics().find((space) => space.space_name === "new_space");
      if ((young?.space_size ?? 0) >= enoughBytes) setFlagsFromString("--semi-space-growth-factor=1");
      else if (timer !== null) timer = clock.startTimer(lookEveryMs, look);
    };
    look();
  };
  return {
    [Symbol.dispose]() {
      timer?.clear();
      timer = null;
    },
  };
}
