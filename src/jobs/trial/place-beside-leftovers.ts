import { RolloutError } from "../../base/rollout-error.ts";
import type { Environment, Placement } from "../../environments/environment.ts";
import { callEnvironment } from "./call-environment.ts";
import type { TryState } from "./try-state.ts";

/** Puts things in place where what the agent left may still run; what keeps them out is ended, and marks the trial. */
export async function placeBesideLeftovers(
  state: TryState,
  environment: Environment,
  what: string,
  items: readonly Placement[],
): Promise<void> {
  const { context, leftovers } = state;
  const place = (): Promise<void> => callEnvironment(context, what, (signal) => environment.copyTo(items, signal));
  try {
    await place();
  } catch (error) {
    const isRefused = error instanceof RolloutError && error.code === "copy_failed";
    if (!isRefused || leftovers.length === 0 || state.areLeftoversEnded) throw error;
    await callEnvironment(context, "ending processes", (signal) => environment.killProcesses(signal));
    state.areLeftoversEnded = true;
    // Whatever fails without them is not their doing.
    await place();
    const commands = leftovers.map(({ command }) => command.slice(0, 80)).join("; ");
    state.distrust(`something that the agent left running kept the tests out until it was ended (${commands})`);
  }
}
