import type { Clock } from "../base/clock.ts";
import type { ProcessOwner } from "../base/process-owner.ts";

/** What a run stands on, handed down from the outer door. */
export interface RunGround {
  readonly clock: Clock;
  readonly owner: ProcessOwner;
  /** Uniform in [0, 1), for the waits between tries. */
  readonly random: () => number;
}
