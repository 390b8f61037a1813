import type { TreeEntry } from "./tree-entry.ts";

/** An entry of an archive that was made of the directory or file `name`, relative to it. */
export function stripRoot(entry: TreeEntry, name: string): TreeEntry {
  const strip = (path: string): string => (path === name ? "" : path.replace(`${name}/`, ""));
  const path = strip(entry.path);
  if (entry.type === "hardlink") return { ...entry, path, linkTarget: strip(entry.linkTarget) };
  return { ...entry, path };
}
