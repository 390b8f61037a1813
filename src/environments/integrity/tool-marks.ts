import { lstatSync, readlinkSync } from "node:fs";
import { posix } from "node:path";
import { systemCodeOf } from "../../base/rollout-error.ts";
import { loaderCachePath } from "../environment.ts";

// Whoever replaces one of these decides what every test sees; other tools are a task's own business.
const shells = [
  // The tests are run by the first of these, and put in place by some of the others.
  ...["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/sbin"].map((folder) => `${folder}/bash`),
  ...["bash", "sh", "dash", "busybox", "env", "rm", "mkdir", "ln", "chmod", "chown"].flatMap((name) => [
    `/bin/${name}`,
    `/usr/bin/${name}`,
  ]),
];
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
const preloadPath = "/etc/ld.so.preload";
// What the names lead to where a version stands in a file's name.
const versioned = /^(libtinfo\.so\.6\.[\d.]+|(libc|ld)-[\d.]+\.so)$/;
/** Where the tools are looked for, links not followed. */
export const toolPaths: readonly string[] = [
  ...shells,
  ...libraryFolders.flatMap((folder) => libraries.map((name) => `${folder}/${name}`)),
  preloadPath,
  loaderCachePath,
];

const linkMark = "link to ";
const mostLinks = 8;

/** What tells the shells, the loader and the C library of a root file system from others in their place, by path. */
export type ToolMarks = ReadonlyMap<string, string>;

/** What somebody found at a path; a link is never followed. */
export type ToolStat =
  | { readonly kind: "directory" }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "other"; readonly mark: string };

/** Whether a path is that of a tool with which the tests run, or of the link that leads to several. */
export function isTool(path: string): boolean {
  const [folder, name] = [posix.dirname(path), posix.basename(path)];
  if (libraryFolders.includes(folder) && versioned.test(name)) return true;
  return toolPaths.includes(path) || /^\/(bin|lib|lib64)$/.test(path);
}

/** Reads the marks from outside; the kernel keeps the time of the last change, and nobody inside can set it. */
export function readToolMarks(root: string): ToolMarks {
  const seen = new Map<string, ToolStat | null>();
  for (const path of toolPaths) {
    const walk = walkTo(path);
    for (let step = walk.next(); !step.done;) {
      const { value } = step;
      const stat = seen.has(value) ? (seen.get(value) ?? null) : statOf(`${root}${value}`);
      seen.set(value, stat);
      step = walk.next(stat);
    }
  }
  return marksOf(seen);
}

/** The same for a look that takes a while; so many are on their way at once. */
export async function collectToolMarks(
  look: (path: string) => Promise<ToolStat | null>,
  inFlight: number,
): Promise<ToolMarks> {
  const looks = new Map<string, Promise<ToolStat | null>>();
  const left = toolPaths.values();
  const work = async (): Promise<void> => {
    for (const path of left) {
      const walk = walkTo(path);
      for (let step = walk.next(); !step.done;) {
        const looking = looks.get(step.value) ?? look(step.value);
        looks.set(step.value, looking);
        step = walk.next(await looking);
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  const seen = [...looks].map(async ([path, looking]) => [path, await looking] as const);
  return marksOf(new Map(await Promise.all(seen)));
}

/**
 * Where to look again when the image has those marks: at all that it has, and where a new file would come before one of
 * them or take its place. A library under a name that the image has elsewhere is loaded by nothing.
 */
export function pathsToLookAt(image: ToolMarks): string[] {
  const isBehindLink = (path: string): boolean => image.get(posix.dirname(path))?.startsWith(linkMark) ?? false;
  const absent = [...shells, preloadPath].filter(
    (path) => !image.has(path) && !isBehindLink(path) && !isLinkedTo(path),
  );
  return [...image.keys(), ...absent];
}

// Nobody calls these by their own names: links that have marks themselves lead to them.
function isLinkedTo(path: string): boolean {
  return ["dash", "busybox"].includes(posix.basename(path));
}

/** The mark of what stands at a path; null for what has none, as nothing and directories have. */
export function markOf(stat: ToolStat | null): string | null {
  if (stat === null || stat.kind === "directory") return null;
  return stat.kind === "link" ? linkMark + stat.target : stat.mark;
}

/** The paths whose marks differ. */
export function differingTools(before: ToolMarks, after: ToolMarks): string[] {
  const all = new Set([...before.keys(), ...after.keys()]);
  return [...all].filter((path) => before.get(path) !== after.get(path)).sort();
}

// Asks what stands at each part of a path. Links on the way have marks themselves, and what one at the end leads to is
// looked at as another path, because the kernel would follow it to where the host finds its target.
function* walkTo(path: string, links = 0): Generator<string, void, ToolStat | null> {
  const names = path.split("/").slice(1);
  for (let count = 1; count <= names.length; count++) {
    const part = `/${names.slice(0, count).join("/")}`;
    const stat = yield part;
    if (stat?.kind === "link" && count === names.length && links < mostLinks)
      yield* walkTo(posix.resolve(posix.dirname(part), stat.target), links + 1);
    if (stat?.kind !== "directory") return;
  }
}

// What a directory holds is marked by itself.
function marksOf(seen: ReadonlyMap<string, ToolStat | null>): ToolMarks {
  const marks = [...seen].map(([path, stat]) => [path, markOf(stat)] as const);
  return new Map(marks.flatMap(([path, mark]) => (mark === null ? [] : [[path, mark]])));
}

function statOf(path: string): ToolStat | null {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return null;
    if (stats.isSymbolicLink()) return { kind: "link", target: readlinkSync(path) };
    if (stats.isDirectory()) return { kind: "directory" };
    return { kind: "other", mark: [stats.mode, stats.size, stats.ctimeNs].join(" ") };
  } catch (error) {
    return { kind: "other", mark: `unreadable: ${systemCodeOf(error) ?? "unknown"}` };
  }
}
