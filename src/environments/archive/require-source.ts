import { lstat } from "node:fs/promises";
import { RolloutError } from "../../base/rollout-error.ts";

/** Rejects with `not_found` when there is nothing to copy. */
export async function requireSource(path: string): Promise<void> {
  await lstat(path).catch((cause: unknown) => {
    throw new RolloutError("not_found", `there is nothing at ${path}`, { cause });
  });
}
