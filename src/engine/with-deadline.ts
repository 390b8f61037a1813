import { startDeadline, type DeadlineOptions } from "./deadline.ts";
import { settleWithin } from "./settle-within.ts";

export interface BoundedOptions extends DeadlineOptions {
  /** How long the work may take to notice that it was told to stop. */
  readonly graceMs: number;
}

/** Runs work under a limit; throws the reason when it is cut short, even if the work never settles. */
export async function withDeadline<T>(options: BoundedOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  using deadline = startDeadline(options);
  return await settleWithin(work(deadline.signal), deadline.signal, options.clock, options.graceMs);
}
