import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf } from "../base/rollout-error.ts";
import type { Store } from "../store/store.ts";
import type { CliContext } from "./cli-context.ts";
import { openNamedStore, storeLocation } from "./open-store.ts";
import type { RunReporter } from "./run-reporter.ts";

/**
 * Opens the store in which a job registers itself: the one that a person named, or the one of the working directory if it
 * exists. A store that cannot be opened is reported and never stops a job.
 */
export async function openRegistry(
  location: string | undefined,
  reporter: Pick<RunReporter, "say">,
  context: CliContext,
): Promise<Store | null> {
  const { host } = context;
  const isNamed = location !== undefined || Boolean(host.env["ROLLOUT_STORE"]);
  if (!isNamed && !existsSync(resolve(host.cwd, storeLocation(location, context)))) return null;
  try {
    return await openNamedStore(location, "write", context);
  } catch (error) {
    reporter.say(`the job is not recorded in the store: ${messageOf(error)}`);
    return null;
  }
}
