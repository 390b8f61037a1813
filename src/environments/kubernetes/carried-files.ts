import { encodeTar, tarEndBytes } from "../archive/encode-tar.ts";
import { placementEntries } from "../archive/placement-entries.ts";
import { overlap, planPlacements, type PlacementGroup } from "../archive/plan-placements.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import type { Placement } from "../environment.ts";

// What travels with a command is held in memory, here and for a moment in the Pod.
const mostCarriedBytes = 256 * 1024;

/** A group of placements whose files have been read, so that it can be made later. */
export interface ReadGroup extends Pick<PlacementGroup, "emptied" | "removed" | "parents"> {
  /** Null when nothing is written. */
  readonly archive: Buffer | null;
}

/** Reads what is to be placed; null when it is too much to be carried with a command. */
export async function readGroups(
  items: readonly Placement[],
  mounted: readonly string[],
  signal: AbortSignal,
): Promise<readonly ReadGroup[] | null> {
  const groups: ReadGroup[] = [];
  let left = mostCarriedBytes;
  for (const { items: written, ...group } of planPlacements(items, new Set(mounted))) {
    const archive = written.length === 0 ? null : await readArchive(written, mounted, left, signal);
    if (written.length > 0 && archive === null) return null;
    left -= archive?.length ?? 0;
    groups.push({ ...group, archive });
  }
  return groups;
}

/** The same in as few groups as can be: two can be made at once when neither touches what the other does. */
export function joinGroups(groups: readonly ReadGroup[]): readonly ReadGroup[] {
  const joined: ReadGroup[] = [];
  for (const group of groups) {
    const last = joined.at(-1);
    const isApart = last && !targetsOf(last).some((one) => targetsOf(group).some((other) => overlap(one, other)));
    if (isApart) joined[joined.length - 1] = joinTwo(last, group);
    else joined.push(group);
  }
  return joined;
}

function targetsOf({ emptied, removed }: ReadGroup): readonly string[] {
  return [...emptied, ...removed];
}

function joinTwo(one: ReadGroup, other: ReadGroup): ReadGroup {
  const { archive } = one;
  return {
    emptied: [...one.emptied, ...other.emptied],
    removed: [...one.removed, ...other.removed],
    parents: [...new Set([...one.parents, ...other.parents])],
    archive:
      archive === null || other.archive === null
        ? (archive ?? other.archive)
        : Buffer.concat([archive.subarray(0, -tarEndBytes), other.archive]),
  };
}

async function readArchive(
  items: readonly Placement[],
  mounted: readonly string[],
  mostBytes: number,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of encodeTar(unmounted(placementEntries(items, signal), mounted))) {
    // Its maker may use it again.
    chunks.push(Buffer.from(chunk));
    length += chunk.length;
    if (length > mostBytes) return null;
  }
  return Buffer.concat(chunks);
}

/** What a placement writes, without mount points: they have their own mode and owner, which not everybody may change. */
export async function* unmounted(
  entries: AsyncIterable<TreeEntry>,
  mounted: readonly string[],
): AsyncGenerator<TreeEntry> {
  for await (const entry of entries) if (!mounted.includes(`/${entry.path}`)) yield entry;
}

/** Groups as a command's supervisor reads them: paths to empty, to remove and to make, and archives with their length. */
export function encodeGroups(groups: readonly ReadGroup[]): Buffer {
  const words = groups.flatMap(({ emptied, removed, parents, archive }) => [
    ...["E", ...emptied, "R", ...removed, "P", ...parents].map((word) => `${word}\0`),
    ...(archive === null ? [] : [encodeArchive(archive)]),
  ]);
  return Buffer.from([`${words.length}\0`, ...words].join(""));
}

function encodeArchive(archive: Buffer): string {
  const text = archive.toString("base64");
  return `A${text.length}\0${text}`;
}
