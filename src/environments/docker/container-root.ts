import {
  chmodSync,
  closeSync,
  constants,
  lchownSync,
  lstatSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { systemCodeOf } from "../../base/rollout-error.ts";
import { placementEntries } from "../archive/placement-entries.ts";
import { checkTarget, planPlacements } from "../archive/plan-placements.ts";
import { requireSource } from "../archive/require-source.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import { writeTree } from "../archive/write-tree.ts";
import type { Placement } from "../environment.ts";
import { readToolMarks, type ToolMarks } from "../integrity/tool-marks.ts";
import { logsPath } from "./log-volume.ts";

/**
 * The files of a running container as this machine's kernel shows them, reached without the engine. Only for root, and
 * only while nothing runs in the container: a directory could become a link between two looks.
 */
export class ContainerRoot {
  readonly #process: string;
  readonly #logsHostPath: string;

  /** The process id is that of the container's main process; what is mounted as its logs tells that it is. */
  constructor(pid: number, logsHostPath: string) {
    this.#process = `/proc/${pid}`;
    this.#logsHostPath = logsHostPath;
  }

  /** Places everything, or nothing: false when that takes the engine, because of a link or another mount on the way. */
  async tryPlace(items: readonly Placement[], signal: AbortSignal): Promise<boolean> {
    if (planPlacements(items, new Set()).length > 1) return false;
    for (const item of items) if (item.kind === "tree") await requireSource(item.source);
    return this.#within(async (root) => {
      const targets = items.map(({ target }) => checkTarget(target));
      if (!targets.every((target) => isPlain(root, target))) return false;
      for (const [index, item] of items.entries()) {
        await placeOne({ ...item, target: targets[index] ?? item.target }, root, signal);
      }
      return true;
    });
  }

  /** Removes links and files that stand at the top, which needs no stillness; false when something else is asked for. */
  async tryUnlink(items: readonly Placement[]): Promise<boolean> {
    const isTop = ({ kind, target }: Placement): boolean =>
      kind === "remove" && posix.dirname(checkTarget(target)) === "/";
    if (!items.every(isTop)) return false;
    return this.#within(async (root) => {
      try {
        for (const { target } of items) {
          const path = join(root, checkTarget(target));
          if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) unlinkSync(path);
        }
        return true;
      } catch (error) {
        if (systemCodeOf(error) === undefined) throw error;
        return false;
      }
    });
  }

  /** What its tools look like; null when it is gone. */
  readTools(): ToolMarks | null {
    const descriptor = this.open();
    if (descriptor === null) return null;
    try {
      return readToolMarks(`/proc/self/fd/${descriptor}`);
    } finally {
      closeSync(descriptor);
    }
  }

  /** The table of its mounts; null when it is gone. */
  readMountInfo(): string | null {
    const descriptor = this.open();
    if (descriptor === null) return null;
    try {
      return readFileSync(`${this.#process}/mountinfo`, "utf8");
    } catch (error) {
      if (systemCodeOf(error) === undefined) throw error;
      return null;
    } finally {
      closeSync(descriptor);
    }
  }

  async #within(work: (root: string) => Promise<boolean>): Promise<boolean> {
    const descriptor = this.open();
    if (descriptor === null) return false;
    try {
      return await work(`/proc/self/fd/${descriptor}`);
    } finally {
      closeSync(descriptor);
    }
  }

  /** Opens its root, for the caller to close; null when it is gone. */
  open(): number | null {
    let descriptor: number;
    try {
      descriptor = openSync(`${this.#process}/root`, constants.O_RDONLY | constants.O_DIRECTORY);
    } catch {
      return null;
    }
    // A process id may have become another's since; then its logs are not these.
    if (isSame(`/proc/self/fd/${descriptor}${logsPath}`, this.#logsHostPath)) return descriptor;
    closeSync(descriptor);
    return null;
  }
}

function isSame(one: string, other: string): boolean {
  const [found, wanted] = [lstatSync(one, { throwIfNoEntry: false }), statSync(other, { throwIfNoEntry: false })];
  return found !== undefined && wanted !== undefined && found.dev === wanted.dev && found.ino === wanted.ino;
}

// Every parent is a directory of the container's own file system, and no other file system stands at the target.
function isPlain(root: string, target: string): boolean {
  const { dev } = lstatSync(`${root}/.`);
  const names = target.split("/").slice(1);
  for (let count = 1; count < names.length; count++) {
    const stats = lstatSync(join(root, ...names.slice(0, count)), { throwIfNoEntry: false });
    if (!stats?.isDirectory() || stats.dev !== dev) return false;
  }
  return (lstatSync(root + target, { throwIfNoEntry: false })?.dev ?? dev) === dev;
}

async function placeOne(item: Placement, root: string, signal: AbortSignal): Promise<void> {
  const path = root + item.target;
  await rm(path, { recursive: true, force: true });
  if (item.kind === "file") {
    writeFileSync(path, item.content, { flag: "wx" });
    chmodSync(path, item.mode);
  } else if (item.kind === "directory") {
    await mkdir(path);
    chmodSync(path, 0o777);
  } else if (item.kind === "link") symlinkSync(item.to, path);
  else if (item.kind === "tree") await writeTree(owned(item, path, signal), path, { signal, links: "any" });
}

// The writer asks for the next entry when it has done with the one before.
async function* owned(item: Placement, path: string, signal: AbortSignal): AsyncGenerator<TreeEntry> {
  const directories: (() => void)[] = [];
  for await (const entry of placementEntries([item], signal)) {
    const inside = entry.path.slice(item.target.length);
    yield { ...entry, path: inside };
    if (entry.type === "other") continue;
    const written = join(path, inside);
    lchownSync(written, entry.uid, entry.gid);
    if (entry.type === "file") chmodSync(written, entry.mode);
    // Root may write into any directory, but the writer looks at modes of its own.
    if (entry.type === "directory") directories.push(() => chmodSync(written, entry.mode));
  }
  for (const finish of directories) finish();
}
