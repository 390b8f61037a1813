import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import { noSecrets } from "../../../base/redactor.ts";
import { writeFileAtomic } from "../../../base/writers/atomic-file.ts";
import { mapBounded } from "../map-bounded.ts";
import { exists, treeDirectory, usageFile, type RepositoryLayout } from "./cache-layout.ts";
import { acquireProcessLock } from "../../../base/process-lock.ts";
import { readOwner } from "../../../base/process-owner.ts";

export interface ClaimOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The directory of each wanted tree, null for those not in the cache; none is removed while this process lives. */
export async function claimTrees(
  layout: RepositoryLayout,
  shownUrl: string,
  wanted: readonly { readonly commit: string; readonly path: string }[],
  options: ClaimOptions,
): Promise<(string | null)[]> {
  const { host, clock } = options;
  await using _shelf = await acquireProcessLock(layout.shelfLock, options);
  await mkdir(layout.holders, { recursive: true });
  const owner = readOwner(host);
  const holder = join(layout.holders, `${owner.hostname.slice(0, 100)}-${owner.bootId}-${owner.pid}.json`);
  await writeFileAtomic(holder, JSON.stringify(owner), noSecrets);
  await writeFileAtomic(layout.description, JSON.stringify({ url: shownUrl }), noSecrets);
  const directories = await mapBounded(wanted, 32, async ({ commit, path }) => {
    const directory = treeDirectory(layout, commit, path);
    return (await exists(directory)) ? directory : null;
  });
  const used = new Set(wanted.filter((_, index) => directories[index] !== null).map(({ commit }) => commit));
  for (const commit of used) {
    await writeFileAtomic(usageFile(layout, commit), JSON.stringify({ lastUsedMs: clock.now() }), noSecrets);
  }
  return directories;
}
