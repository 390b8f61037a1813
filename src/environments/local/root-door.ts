import { closeSync, lstatSync, unlinkSync } from "node:fs";
import { posix } from "node:path";
import type { Placement } from "../environment.ts";
import { outsideId, type IdMap } from "./id-map.ts";
import type { ProgramStarter } from "./program-starter.ts";
import { checkTarget } from "../archive/plan-placements.ts";
import type { Sandbox } from "./sandbox.ts";

export interface RootDoorMeans {
  readonly idMap: IdMap;
  readonly starter: ProgramStarter;
}

/**
 * Makes links and removes single files anywhere in a sandbox without a process inside, which would take many programs
 * for one small change. Only for root, and only while nothing runs inside: a directory could become a link between two
 * looks.
 */
export class RootDoor {
  readonly #sandbox: Sandbox;
  readonly #idMap: IdMap;
  readonly #starter: ProgramStarter;

  constructor(sandbox: Sandbox, { idMap, starter }: RootDoorMeans) {
    this.#sandbox = sandbox;
    this.#idMap = idMap;
    this.#starter = starter;
  }

  /** Places something, unless it takes more than this: a link or another mount on the way, a directory at the end. */
  async tryPlace(item: Placement): Promise<boolean> {
    if (this.#idMap.kind !== "private" || (item.kind !== "link" && item.kind !== "remove")) return false;
    const target = checkTarget(item.target);
    const descriptor = this.#sandbox.openRoot();
    if (descriptor === null) return false;
    try {
      const root = `/proc/self/fd/${descriptor}`;
      if (!this.#isPlain(root, target)) return false;
      if (lstatSync(root + target, { throwIfNoEntry: false }) !== undefined) unlinkSync(root + target);
      if (item.kind === "link") await this.#link(descriptor, item.to, target);
      return true;
    } finally {
      closeSync(descriptor);
    }
  }

  // Our own ids do not exist in its file system, so this takes a process with the ones of its root, and no rights.
  async #link(root: number, to: string, target: string): Promise<void> {
    const [directory, name] = [posix.dirname(target), posix.basename(target)];
    await this.#starter.link({
      directory: this.#starter.pathOf(root) + directory,
      name,
      to,
      uid: outsideId(this.#idMap.uids, 0),
      gid: outsideId(this.#idMap.gids, 0),
    });
  }

  #isPlain(root: string, target: string): boolean {
    const owner = outsideId(this.#idMap.uids, 0);
    const { dev } = lstatSync(`${root}/.`);
    const parents = target.split("/").slice(0, -1);
    for (let count = 1; count <= parents.length; count++) {
      // Without a slash at the end, or a link would be followed; the root itself is one.
      const path = root + (count === 1 ? "/." : parents.slice(0, count).join("/"));
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (!stats?.isDirectory() || stats.dev !== dev || stats.uid !== owner) return false;
    }
    return !lstatSync(root + target, { throwIfNoEntry: false })?.isDirectory();
  }
}
