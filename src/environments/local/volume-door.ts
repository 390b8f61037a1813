import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { readTree } from "../archive/read-tree.ts";
import { writeTree } from "../archive/write-tree.ts";
import { checkTarget } from "../archive/plan-placements.ts";
import type { CopyFromRequest, CopyReport, Placement } from "../environment.ts";
import { copyOwned, setOwner } from "./copy-owned.ts";
import type { IdMap } from "./id-map.ts";

/**
 * Reaches the volumes of a sandbox on the host, without a process inside. Only for root, who may read what any id of
 * the sandbox owns, and only while nothing runs inside: a directory could become a link between two looks.
 */
export class VolumeDoor {
  readonly #directory: string;
  readonly #volumes: ReadonlyMap<string, string>;
  readonly #idMap: IdMap;

  constructor(directory: string, volumes: ReadonlyMap<string, string>, idMap: IdMap) {
    this.#directory = directory;
    this.#volumes = idMap.kind === "private" ? volumes : new Map();
    this.#idMap = idMap;
  }

  /** True when a path lies in a volume, with no link on the way. */
  leadsTo(path: string): boolean {
    return this.#locate(path) !== null;
  }

  async place(item: Placement, signal: AbortSignal): Promise<void> {
    const target = checkTarget(item.target);
    const found = this.#locate(target);
    if (found === null) throw new RolloutError("copy_failed", `${target} lies behind a link`);
    await this.#placeOne(item, found, signal);
  }

  async copyOut({ source, target, renames, limits, signal }: CopyFromRequest): Promise<CopyReport> {
    const found = this.#locate(posix.resolve("/", source));
    if (found === null) throw new RolloutError("not_found", `there is nothing at ${source}`);
    return writeTree(readTree(found.hostPath, signal), target, { signal, renames, limits });
  }

  async #placeOne(item: Placement, { hostPath, parents, isVolume }: Found, signal: AbortSignal): Promise<void> {
    if (item.kind !== "remove")
      for (const parent of parents) if (!existsSync(parent)) this.#makeDirectory(parent, 0o755);
    // The mount inside leads to this very directory, so a volume is emptied and never replaced.
    const inTheWay = isVolume ? readdirSync(hostPath).map((name) => join(hostPath, name)) : [hostPath];
    for (const path of inTheWay) await rm(path, { recursive: true, force: true });
    if (item.kind === "file") {
      writeFileSync(hostPath, item.content, { flag: "wx" });
      setOwner(hostPath, this.#idMap);
      chmodSync(hostPath, item.mode);
    } else if (item.kind === "directory") this.#makeDirectory(hostPath, 0o777);
    else if (item.kind === "link") {
      symlinkSync(item.to, hostPath);
      setOwner(hostPath, this.#idMap);
    } else if (item.kind === "tree") await copyOwned(item.source, hostPath, this.#idMap, () => true, signal);
  }

  #makeDirectory(hostPath: string, mode: number): void {
    mkdirSync(hostPath, { recursive: true });
    chmodSync(hostPath, mode);
    setOwner(hostPath, this.#idMap);
  }

  #locate(path: string): Found | null {
    const [volume, ...names] = posix
      .normalize(path)
      .split("/")
      .slice(1)
      .filter((name) => name !== "");
    const place = this.#volumes.get(`/${volume}`);
    if (place === undefined) return null;
    const parents: string[] = [];
    let hostPath = join(this.#directory, place);
    for (const name of names) {
      const stats = lstatSync(hostPath, { throwIfNoEntry: false });
      if (stats && !stats.isDirectory()) return null;
      parents.push(hostPath);
      hostPath = join(hostPath, name);
    }
    return { hostPath, parents, isVolume: names.length === 0 };
  }
}

interface Found {
  readonly hostPath: string;
  readonly parents: readonly string[];
  readonly isVolume: boolean;
}
