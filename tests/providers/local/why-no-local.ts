import { messageOf } from "../../../src/base/rollout-error.ts";
import { openLocal } from "./open-local.ts";

/** Why the local provider cannot work on this machine; null when it can. Its base is ready afterwards. */
export async function whyNoLocal(cacheDir: string): Promise<string | null> {
  await using provider = await openLocal(cacheDir);
  return await provider.probe(new AbortController().signal).then(
    () => null,
    (error: unknown) => `the local environment cannot run here: ${messageOf(error)}`,
  );
}
