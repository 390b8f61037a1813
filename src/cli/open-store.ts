import { openStore } from "../store/registry.ts";
import type { Store } from "../store/store.ts";
import type { CliContext } from "./cli-context.ts";

const usualLocation = ".rollout/rollout.db";

/** Opens the store that a person named, in an option or in the environment, or the one of the working directory. */
export function openNamedStore(
  location: string | undefined,
  access: "read" | "write",
  { host, clock }: Pick<CliContext, "host" | "clock">,
): Promise<Store> {
  return openStore({ location: location ?? (host.env["ROLLOUT_STORE"] || usualLocation), host, clock, access });
}
