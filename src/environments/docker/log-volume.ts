import { chmodSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { planPlacements } from "../archive/plan-placements.ts";
import { readTree } from "../archive/read-tree.ts";
import { writeTree } from "../archive/write-tree.ts";
import type { CopyFromRequest, CopyReport, Placement } from "../environment.ts";

/** Where a volume stands in its container. */
export const logsPath = "/logs";

/**
 * The logs of one container as a directory of this machine, reached without the engine. Only for root, and only while
 * nothing runs in the container: a directory could become a link between two looks.
 */
export class LogVolume {
  readonly #directory: string;
  /** What is mounted. */
  readonly hostPath: string;

  /** Makes the directory, which must not exist. */
  constructor(directory: string) {
    this.#directory = directory;
    this.hostPath = join(directory, "logs");
    mkdirSync(this.hostPath, { recursive: true });
    chmodSync(this.hostPath, 0o755);
  }

  /** Makes those of the directories that lie in the volume, and gives back everything else. */
  async place(items: readonly Placement[]): Promise<readonly Placement[]> {
    const inside = items.filter(({ target }) => this.holds(target));
    const isSimple = inside.every(({ kind, target }) => kind === "directory" && this.#locate(target) !== null);
    if (!isSimple || planPlacements(items, new Set()).length !== 1) return items;
    for (const { target } of inside) {
      const found = this.#locate(target);
      if (found === null) throw new RolloutError("copy_failed", `${target} lies behind a link`);
      // The mount leads to this very directory, so the volume itself is emptied and never replaced.
      const inTheWay = found === this.hostPath ? readdirSync(found).map((name) => join(found, name)) : [found];
      for (const path of inTheWay) await rm(path, { recursive: true, force: true });
      mkdirSync(found, { recursive: true });
      chmodSync(found, 0o777);
    }
    return items.filter((item) => !inside.includes(item));
  }

  /** Copies something of the volume out; null when its path leads through a link, which is the engine's to follow. */
  async copyOut({ source, target, renames, limits, signal }: CopyFromRequest): Promise<CopyReport | null> {
    const found = this.#locate(source);
    if (found === null) return null;
    return writeTree(readTree(found, signal), target, { signal, renames, limits });
  }

  /** True for paths of the container that lie in the volume. */
  holds(path: string): boolean {
    const normal = posix.resolve("/", path);
    return normal === logsPath || normal.startsWith(`${logsPath}/`);
  }

  /** Leaves it in place for a container that is kept. */
  keep(containerId: string): void {
    writeFileSync(join(this.#directory, "kept"), containerId);
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }

  // Null for what lies behind a link or a file.
  #locate(path: string): string | null {
    const names = posix.resolve("/", path).split("/").slice(2);
    let hostPath = this.hostPath;
    for (const name of names) {
      const stats = lstatSync(hostPath, { throwIfNoEntry: false });
      if (stats && !stats.isDirectory()) return null;
      hostPath = join(hostPath, name);
    }
    return hostPath;
  }
}
