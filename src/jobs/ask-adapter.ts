import { messageOf, RolloutError } from "../base/rollout-error.ts";
import { AbortReason } from "../engine/abort-reason.ts";

/** Calls an adapter before the job starts; what it throws that is not meant for people is told as the adapter's own, with its stack. */
export async function askAdapter<T>(adapter: string, what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof RolloutError || error instanceof AbortReason) throw error;
    const stack = error instanceof Error ? (error.stack?.split("\n").slice(1, 4).join("\n") ?? "") : "";
    throw new RolloutError("provider_unavailable", `environment "${adapter}" threw in ${what}: ${messageOf(error)}`, {
      hint: `an adapter tells people what is wrong with a RolloutError\n${stack}`.trimEnd(),
      cause: error,
    });
  }
}
