import type { Clock } from "../base/clock.ts";
import type { ProcessOwner } from "../base/process-owner.ts";
import type { RunOrigin } from "../store/run.ts";

/** What a run needs from its process. */
export interface RunContext {
  readonly clock: Clock;
  readonly owner: ProcessOwner;
  readonly origin: RunOrigin;
  /** Uniform in [0, 1), for the waits between tries. */
  readonly random: () => number;
}
