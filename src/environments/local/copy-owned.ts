import { lchownSync } from "node:fs";
import { join } from "node:path";
import { readTree } from "../archive/read-tree.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import { writeTree } from "../archive/write-tree.ts";
import { outsideId, type IdMap } from "./id-map.ts";

/** Copies a host tree to a place that belongs to an environment, with owners as the environment counts them. */
export async function copyOwned(
  source: string,
  target: string,
  idMap: IdMap,
  keeps: (entry: TreeEntry) => boolean,
  signal: AbortSignal,
): Promise<void> {
  async function* owned(): AsyncGenerator<TreeEntry> {
    for await (const entry of readTree(source, signal)) {
      if (!keeps(entry)) continue;
      yield entry;
      // The writer asks for the next one when it has done with this one.
      if (entry.type !== "other") setOwner(join(target, entry.path), idMap, entry.uid, entry.gid);
    }
  }
  await writeTree(owned(), target, { signal, links: "any" });
}

/** Gives a file to an id of the environment; without a range of ids everything is the caller's already. */
export function setOwner(hostPath: string, idMap: IdMap, uid = 0, gid = 0): void {
  if (idMap.kind === "private") lchownSync(hostPath, outsideId(idMap.uids, uid), outsideId(idMap.gids, gid));
}
