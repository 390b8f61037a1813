import { statSync } from "node:fs";
import { join } from "node:path";
import { removeControlGroups, unthrottle } from "./control-groups.ts";
import { hasRecord, isAlive, listFolders, readRecord, type EnvironmentRecord } from "./environment-records.ts";
import type { LocalGround } from "./local-ground.ts";
import { findAbandonedFolders } from "./own-folders.ts";

// Folders get their names together with their records; a machine that lost its power may still have one without.
const oldestUnrecordedMs = 60_000;
const oldestBaseMs = 14 * 86_400_000;

/** Removes what processes left that were killed, and bases that nobody asked for in weeks; what was kept on purpose stays. */
export async function reapLeftovers(ground: LocalGround): Promise<void> {
  const { layout, host } = ground;
  ground.trash.sweep();
  for (const place of [layout.bases, layout.tools, layout.pipes, layout.environments, layout.layers])
    for (const path of findAbandonedFolders(place, host)) ground.trash.throwAway(path);
  for (const name of listFolders(layout.environments)) {
    const directory = join(layout.environments, name);
    const record = readRecord(directory);
    if (
      record === null ? isUnfinished(directory, ground) : record.state === "running" && !isAlive(record.owner, host)
    ) {
      // What cannot be removed, another user's for one, is no reason not to begin.
      await remove(ground, directory, record).catch(() => {});
    }
  }
  throwAwayOldBases(ground);
}

// The base of a host that was updated since is never asked for again; what was kept may still stand on it.
function throwAwayOldBases({ layout, clock, trash }: LocalGround): void {
  const used = new Set(listFolders(layout.environments).map((name) => readBaseKey(join(layout.environments, name))));
  for (const name of listFolders(layout.bases)) {
    const path = join(layout.bases, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats && clock.now() - stats.mtimeMs > oldestBaseMs && !used.has(name)) trash.throwAway(path);
  }
}

function readBaseKey(directory: string): string | undefined {
  return readRecord(directory)?.base.key;
}

/** Removes an environment by its id, whoever made it; one that is gone is fine. */
export async function removeLeftover(ground: LocalGround, id: string): Promise<void> {
  const name = listFolders(ground.layout.environments).find((entry) => entry === id);
  if (name === undefined) return;
  const directory = join(ground.layout.environments, name);
  await remove(ground, directory, readRecord(directory));
  ground.trash.sweep();
}

async function remove(ground: LocalGround, directory: string, record: EnvironmentRecord | null): Promise<void> {
  const { first, groups = [] } = record ?? {};
  const isThere = (): boolean => first !== null && first !== undefined && isAlive(first, ground.host);
  // With its first process the whole namespace ends.
  if (first && isThere()) process.kill(first.pid, "SIGKILL");
  unthrottle(groups);
  const never = new AbortController().signal;
  for (let round = 0; round < 500 && isThere(); round++) await ground.clock.sleep(10, never);
  await removeControlGroups(groups, ground.clock);
  ground.trash.throwAway(directory);
}

// A record that cannot be read is somebody's all the same.
function isUnfinished(directory: string, { clock }: LocalGround): boolean {
  if (hasRecord(directory)) return false;
  const stats = statSync(directory, { throwIfNoEntry: false });
  return stats !== undefined && clock.now() - stats.mtimeMs > oldestUnrecordedMs;
}
