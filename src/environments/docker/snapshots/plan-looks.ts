import { posix } from "node:path";

/** What an engine says has become of a path: changed, added or removed. */
export interface PathChange {
  readonly Path: string;
  readonly Kind: 0 | 1 | 2;
}

/** A path to look at, with all below it when it was added. */
export interface Look {
  readonly path: string;
  readonly isWhole: boolean;
}

/** The fewest paths that show everything a container has beside its image. */
export function planLooks(changes: readonly PathChange[]): Look[] {
  const kinds = new Map(changes.map(({ Path, Kind }) => [Path, Kind]));
  const parents = new Set(changes.map(({ Path }) => posix.dirname(Path)));
  return changes.flatMap(({ Path: path, Kind }): Look[] => {
    if (Kind === 2 || kinds.get(posix.dirname(path)) === 1) return [];
    if (Kind === 1) return [{ path, isWhole: true }];
    // What is changed and holds something that is changed is a directory, of which the rest is the image's.
    return parents.has(path) ? [] : [{ path, isWhole: false }];
  });
}
