import { RolloutError } from "../base/rollout-error.ts";
import { openStore } from "../store/registry.ts";
import type { Store } from "../store/store.ts";
import type { CliContext } from "./cli-context.ts";

const usualLocation = ".rollout/rollout.db";

/** The store that a person named, in an option or in the environment, or the one of the working directory. */
export function storeLocation(location: string | undefined, { host }: Pick<CliContext, "host">): string {
  return location ?? (host.env["ROLLOUT_STORE"] || usualLocation);
}

/** True when a store that was to be read is not there, or holds nothing. */
export function isMissingStore(error: unknown): error is RolloutError {
  return error instanceof RolloutError && error.code === "not_found";
}

/** Opens the store that a person named, in an option or in the environment, or the one of the working directory. */
export function openNamedStore(
  location: string | undefined,
  access: "read" | "write",
  { host, clock }: Pick<CliContext, "host" | "clock">,
): Promise<Store> {
  return openStore({ location: storeLocation(location, { host }), host, clock, access });
}
