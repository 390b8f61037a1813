import { lstatSync, readlinkSync } from "node:fs";
import { posix } from "node:path";
import { systemCodeOf } from "../../base/rollout-error.ts";

// Whoever replaces one of these decides what every test sees; other tools are a task's own business.
const shells = ["bash", "sh", "dash", "busybox", "env"].flatMap((name) => [`/bin/${name}`, `/usr/bin/${name}`]);
const libraryFolders = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"].flatMap((folder) => [
  folder,
  `${folder}/x86_64-linux-gnu`,
  `${folder}/aarch64-linux-gnu`,
]);
const libraries = [
  "ld-linux-x86-64.so.2",
  "ld-linux-aarch64.so.1",
  "ld-musl-x86_64.so.1",
  "ld-musl-aarch64.so.1",
  "libc.so.6",
  "libtinfo.so.6",
];
const paths: readonly string[] = [
  ...shells,
  ...libraryFolders.flatMap((folder) => libraries.map((name) => `${folder}/${name}`)),
  "/etc/ld.so.preload",
];

const linkMark = "link to ";
const mostLinks = 8;

/** What tells the shells, the loader and the C library of a root file system from others in their place, by path. */
export type ToolMarks = ReadonlyMap<string, string>;

/** Whether a path is that of a tool with which the tests run, or of the link that leads to several. */
export function isTool(path: string): boolean {
  return paths.includes(path) || /^\/(bin|lib|lib64)$/.test(path);
}

/** Reads the marks from outside; the kernel keeps the time of the last change, and nobody inside can set it. */
export function readToolMarks(root: string): ToolMarks {
  const seen = new Map<string, string | null>();
  for (const path of paths) markPath(root, path, seen);
  return new Map([...seen].flatMap(([path, mark]) => (mark === null || mark === "directory" ? [] : [[path, mark]])));
}

/** The paths whose marks differ. */
export function differingTools(before: ToolMarks, after: ToolMarks): string[] {
  const all = new Set([...before.keys(), ...after.keys()]);
  return [...all].filter((path) => before.get(path) !== after.get(path)).sort();
}

// A link is never followed by the kernel, because it would lead to where the host finds its target. Links on the way
// have marks themselves, and what one at the end leads to is looked at as another path.
function markPath(root: string, path: string, seen: Map<string, string | null>, links = 0): void {
  const names = path.split("/").slice(1);
  for (let count = 1; count <= names.length; count++) {
    const part = `/${names.slice(0, count).join("/")}`;
    const known = seen.get(part);
    const mark = known === undefined ? markOf(`${root}${part}`, count === names.length) : known;
    seen.set(part, mark);
    if (mark === null) return;
    if (mark.startsWith(linkMark) && count === names.length && links < mostLinks)
      markPath(root, posix.resolve(posix.dirname(part), mark.slice(linkMark.length)), seen, links + 1);
    if (mark !== "directory") return;
  }
}

function markOf(path: string, isLast: boolean): string | null {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return null;
    if (stats.isSymbolicLink()) return linkMark + readlinkSync(path);
    if (stats.isDirectory() && !isLast) return "directory";
    return [stats.mode, stats.size, stats.ctimeNs].join(" ");
  } catch (error) {
    return `unreadable: ${systemCodeOf(error) ?? "unknown"}`;
  }
}
