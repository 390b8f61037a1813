import { posix } from "node:path";
import type { ChangeReport, ContentReader, FileChange, ListChangesRequest } from "../environment.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import type { MemoryFileSystem } from "./memory-file-system.ts";

/** Compares two file systems below a directory. */
export function listMemoryChanges(
  before: MemoryFileSystem,
  now: MemoryFileSystem,
  { directory, exclude }: ListChangesRequest,
): ChangeReport {
  const isExcluded = (path: string): boolean =>
    exclude.some((other) => `${posix.join(directory, path)}/`.startsWith(`${other}/`));
  const read = (files: MemoryFileSystem): Map<string, TreeEntry> =>
    files.exists(directory)
      ? new Map(
          [...files.entries(directory)].filter(({ path }) => !isExcluded(path)).map((entry) => [entry.path, entry]),
        )
      : new Map();
  const [earlier, later] = [read(before), read(now)];
  const changes: FileChange[] = [];
  for (const [path, entry] of earlier) {
    const other = later.get(path);
    const isGone = other === undefined || isDirectory(other) !== isDirectory(entry);
    // A removed directory is listed without its files.
    if (isGone && later.has(parentOf(path))) changes.push({ path, kind: "removed", type: typeOf(entry) });
  }
  for (const [path, entry] of later) {
    if (path === "") continue;
    const other = earlier.get(path);
    if (other === undefined || isDirectory(other) !== isDirectory(entry))
      changes.push({ path, kind: "added", ...describe(entry) });
    else if (!isDirectory(entry) && !isSame(other, entry)) {
      const modes = other.mode === entry.mode ? undefined : ([other.mode, entry.mode] as const);
      changes.push({ path, kind: "changed", ...describe(entry), modes });
    }
  }
  const reader =
    (entries: ReadonlyMap<string, TreeEntry>): ContentReader =>
    async (path, maxBytes) => {
      const entry = entries.get(path);
      return entry?.type === "file" && entry.size <= maxBytes ? bytesOf(entry) : null;
    };
  return { changes, isCut: false, readAfter: reader(later), readBefore: reader(earlier) };
}

function isDirectory(entry: TreeEntry): boolean {
  return entry.type === "directory";
}

function parentOf(path: string): string {
  const parent = posix.dirname(path);
  return parent === "." ? "" : parent;
}

function typeOf({ type }: TreeEntry): FileChange["type"] {
  if (type === "symlink") return "link";
  return type === "file" || type === "directory" ? type : "other";
}

function describe(entry: TreeEntry): Pick<FileChange, "type" | "size" | "linkTarget"> {
  if (entry.type === "file") return { type: "file", size: entry.size };
  return entry.type === "symlink" ? { type: "link", linkTarget: entry.linkTarget } : { type: typeOf(entry) };
}

function isSame(one: TreeEntry, other: TreeEntry): boolean {
  if (one.mode !== other.mode) return false;
  if (one.type === "symlink" && other.type === "symlink") return one.linkTarget === other.linkTarget;
  return one.type === "file" && other.type === "file" && Buffer.from(bytesOf(one)).equals(bytesOf(other));
}

// Files in memory are one chunk.
function bytesOf(entry: TreeEntry): Uint8Array {
  const chunks = entry.type === "file" ? [...(entry.body as Iterable<Uint8Array>)] : [];
  return Buffer.concat(chunks);
}
