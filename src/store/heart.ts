import type { Clock } from "../base/clock.ts";
import { holdLapsesMs, type RunHold } from "./run-store.ts";

const beatEveryMs = holdLapsesMs / 3;

/** Gives signs of life for a run until it is stopped; told when another process took the run. */
export function startHeart(hold: RunHold, clock: Clock, onLost: (error: Error) => void): { stop(): void } {
  const beat = (): void => {
    hold.beat().catch((thrown: unknown) => {
      if (thrown instanceof Error && "code" in thrown && thrown.code === "in_use") onLost(thrown);
    });
    timer = clock.startTimer(beatEveryMs, beat);
  };
  let timer = clock.startTimer(beatEveryMs, beat);
  return { stop: () => timer.clear() };
}
