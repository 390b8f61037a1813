import type { Clock } from "../base/clock.ts";
import { RolloutError } from "../base/rollout-error.ts";
import type { Run } from "./run.ts";
import { leaseTimeoutMs, type RunLease } from "./run-store.ts";

const heartbeatIntervalMs = leaseTimeoutMs / 3;

export interface HeartbeatOptions {
  /** Returns the run to store with each renewal. Default: the stored run is left as it is. */
  readonly currentRun?: (() => Run) | undefined;
  /** Called once when another process took the run over. */
  readonly onLost: (error: Error) => void;
}

/** Renews a lease at regular intervals until it is stopped. A renewal that fails is tried again at the next one. */
export function startHeartbeat(
  lease: Pick<RunLease, "renew">,
  clock: Clock,
  { currentRun, onLost }: HeartbeatOptions,
): { stop(): void } {
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    timer.clear();
  };
  const renew = async (): Promise<void> => {
    try {
      await lease.renew(currentRun?.());
    } catch (thrown) {
      if (isStopped || !(thrown instanceof RolloutError && thrown.code === "in_use")) return;
      stop();
      onLost(thrown);
    }
  };
  const tick = (): void => {
    timer = clock.startTimer(heartbeatIntervalMs, tick);
    void renew();
  };
  let timer = clock.startTimer(heartbeatIntervalMs, tick);
  return { stop };
}
