import { RolloutError } from "../../base/rollout-error.ts";
import type { Failure } from "./failure.ts";
import type { TryState } from "./try-state.ts";

/** The same failure, unless what the agent had left running may have ended its environment under the tests. */
export function blameLeftovers(failure: Failure, thrown: unknown, state: TryState): Failure {
  const isEnded = thrown instanceof RolloutError && thrown.code === "environment_ended";
  const hadOthers = state.leftovers.length > 0 && !state.areLeftoversEnded && state.verifierEnvironment === null;
  return isEnded && state.step === "verify" && hadOthers ? { ...failure, blame: "agent" } : failure;
}
