import { chmodSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Skeleton } from "./base-system.ts";
import { setOwner } from "./copy-owned.ts";
import type { IdMap } from "./id-map.ts";

/** Makes what a root lacks; directories that are there stay as they are, anything else in their place is replaced. */
export function makeSkeleton(root: string, { directories, files, links }: Skeleton, idMap: IdMap): void {
  const makeDirectory = (path: string, mode: number): void => {
    if (path !== "" && path !== ".") makeDirectory(dirname(path), 0o755);
    const target = path === "." ? root : join(root, path);
    const stats = lstatSync(target, { throwIfNoEntry: false });
    if (stats?.isDirectory()) return;
    if (stats) rmSync(target);
    mkdirSync(target, { recursive: path === "." });
    chmodSync(target, mode);
    setOwner(target, idMap);
  };
  for (const [path, mode] of Object.entries(directories)) makeDirectory(path, mode);
  const isMissing = (path: string): boolean => lstatSync(join(root, path), { throwIfNoEntry: false }) === undefined;
  for (const path of files) {
    if (!isMissing(path)) continue;
    writeFileSync(join(root, path), "");
    setOwner(join(root, path), idMap);
  }
  for (const [path, target] of Object.entries(links)) {
    if (!isMissing(path)) continue;
    symlinkSync(target, join(root, path));
    setOwner(join(root, path), idMap);
  }
}
