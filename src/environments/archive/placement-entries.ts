import type { Placement } from "../environment.ts";
import { readTree } from "./read-tree.ts";
import type { TreeEntry } from "./tree-entry.ts";

// The ids that a user namespace usually maps; what is owned by others becomes root's.
const highestId = 65_535;

/** What is to be placed as the entries of one tree whose root is the environment's. */
export async function* placementEntries(items: readonly Placement[], signal: AbortSignal): AsyncGenerator<TreeEntry> {
  for (const item of items) {
    const path = item.target.slice(1);
    const head = { path, uid: 0, gid: 0, mtimeMs: Date.now() };
    if (item.kind === "tree") {
      for await (const entry of readTree(item.source, signal)) yield { ...entry, ...placed(entry, path) };
    } else if (item.kind === "file") {
      const content = typeof item.content === "string" ? Buffer.from(item.content) : item.content;
      yield { ...head, type: "file", mode: item.mode, size: content.length, body: [content] };
    } else if (item.kind === "directory") yield { ...head, type: "directory", mode: 0o777 };
    else if (item.kind === "link") yield { ...head, type: "symlink", mode: 0o777, linkTarget: item.to };
  }
}

function placed(entry: TreeEntry, root: string): Pick<TreeEntry, "path" | "uid" | "gid"> {
  const known = (id: number): number => (id <= highestId ? id : 0);
  return { path: entry.path === "" ? root : `${root}/${entry.path}`, uid: known(entry.uid), gid: known(entry.gid) };
}
