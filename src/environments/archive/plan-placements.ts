import { posix } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Placement } from "../environment.ts";

/** What is put at a place, or with the kind `remove` taken away from it. */
export interface Placed {
  readonly kind: string;
  readonly target: string;
}

/** Placements that can be made together: first everything in their way is removed, then all of them are written. */
export interface PlacementGroup<Item extends Placed = Placement> {
  /** Mount points that are emptied, because they cannot be removed. */
  readonly emptied: readonly string[];
  readonly removed: readonly string[];
  /** Directories that must exist before. */
  readonly parents: readonly string[];
  readonly items: readonly Item[];
}

/** Groups placements in their order; what lies in, above or at another one's target comes in a later group. */
export function planPlacements<Item extends Placed = Placement>(
  items: readonly Item[],
  mountPoints: ReadonlySet<string>,
): PlacementGroup<Item>[] {
  const groups: Item[][] = [];
  for (const given of items) {
    const item = { ...given, target: checkTarget(given.target) };
    const last = groups.at(-1);
    if (last && !last.some((other) => overlap(other.target, item.target))) last.push(item);
    else groups.push([item]);
  }
  return groups.map((group) => {
    const targets = group.map((item) => item.target);
    const written = group.filter((item) => item.kind !== "remove");
    return {
      emptied: targets.filter((target) => mountPoints.has(target)),
      removed: targets.filter((target) => !mountPoints.has(target)),
      parents: [...new Set(written.map((item) => posix.dirname(item.target)))].filter((path) => path !== "/"),
      items: written,
    };
  });
}

/** An absolute path in its shortest form; rejects the root, which cannot be replaced. */
export function checkTarget(target: string): string {
  const path = posix.normalize(target).replace(/(.)\/$/, "$1");
  if (path.startsWith("/") && path !== "/" && !path.includes("\0")) return path;
  throw new RolloutError("copy_failed", `nothing can be placed at ${JSON.stringify(target)}`);
}

/** Whether one path is the other or lies in it. */
export function overlap(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}
