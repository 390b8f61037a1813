import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";

/** Ids inside a user namespace and the ids outside that they stand for. */
export interface IdRange {
  readonly inside: number;
  readonly outside: number;
  readonly count: number;
}

/** Which ids an environment has: a range of its own (as root), the caller's subordinate ones, or one alone. */
export interface IdMap {
  readonly kind: "private" | "subordinate" | "single";
  readonly uids: readonly IdRange[];
  readonly gids: readonly IdRange[];
}

/** What the choice of a map depends on. */
export interface IdMapFacts {
  readonly uid: number;
  readonly gid: number;
  readonly hasHelpers: boolean;
  /** The ids that this process itself has, as the kernel tells them. */
  readonly ownUids: string;
  readonly passwd: string;
  readonly subuid: string;
  readonly subgid: string;
}

// Above every range that distributions, systemd and container engines hand out, and below 2^31.
const privateBase = 0x70000000;
const privateCount = 65_536;
const leastCount = 1000;

/** Chooses the ids for a caller. Root of an environment is never root outside. */
export function planIdMap(facts: IdMapFacts): IdMap {
  const { uid, gid } = facts;
  const self = (id: number): IdRange => ({ inside: 0, outside: id, count: 1 });
  if (uid === 0) {
    const range = findPrivateRange(facts.ownUids);
    // Root of a namespace with one id is an ordinary user outside.
    if (range === null) return { kind: "single", uids: [self(uid)], gids: [self(gid)] };
    return { kind: "private", uids: [range], gids: [range] };
  }
  const name = facts.passwd
    .split("\n")
    .map((line) => line.split(":"))
    .find((fields) => fields[2] === String(uid))?.[0];
  const owners = [String(uid), ...(name === undefined ? [] : [name])];
  const subuids = facts.hasHelpers ? findRange(facts.subuid, owners) : null;
  const subgids = facts.hasHelpers ? findRange(facts.subgid, owners) : null;
  if (subuids === null || subgids === null) return { kind: "single", uids: [self(uid)], gids: [self(gid)] };
  return { kind: "subordinate", uids: [self(uid), subuids], gids: [self(gid), subgids] };
}

// Root of a container has only the ids that the container was given.
function findPrivateRange(ownUids: string): IdRange | null {
  const owned = ownUids
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([start = 0, , count = 0]) => ({ start: Math.max(1, start), end: start + count }));
  if (owned.some(({ start, end }) => start <= privateBase && end >= privateBase + privateCount)) {
    return { inside: 0, outside: privateBase, count: privateCount };
  }
  const [widest] = owned.sort((a, b) => b.end - b.start - (a.end - a.start));
  if (widest === undefined || widest.end - widest.start < leastCount) return null;
  return { inside: 0, outside: widest.start, count: Math.min(privateCount, widest.end - widest.start) };
}

function findRange(text: string, owners: readonly string[]): IdRange | null {
  for (const line of text.split("\n")) {
    const [owner = "", start, count] = line.trim().split(":");
    if (owners.includes(owner) && Number(start) > 0 && Number(count) >= leastCount) {
      return { inside: 1, outside: Number(start), count: Math.min(Number(count), privateCount - 1) };
    }
  }
  return null;
}

/** The id outside that an id inside stands for; the one of root for what has none. */
export function outsideId(ranges: readonly IdRange[], inside: number): number {
  for (const range of ranges) {
    if (inside >= range.inside && inside < range.inside + range.count) return range.outside + inside - range.inside;
  }
  return ranges[0]?.outside ?? inside;
}

/** Reads what the choice of a map depends on. */
export function readIdMapFacts(uid: number, hasHelpers: boolean): IdMapFacts {
  const gid = Number(/^Gid:\s+\d+\s+(\d+)/m.exec(readText("/proc/self/status"))?.[1] ?? uid);
  return {
    uid,
    gid,
    hasHelpers,
    ownUids: readText("/proc/self/uid_map"),
    passwd: readText("/etc/passwd"),
    subuid: readText("/etc/subuid"),
    subgid: readText("/etc/subgid"),
  };
}

/** Gives a process that has just made a user namespace its ids. */
export async function writeIdMap(pid: number, map: IdMap, signal: AbortSignal): Promise<void> {
  if (map.kind === "subordinate") {
    const numbers = (ranges: readonly IdRange[]): string[] =>
      ranges.flatMap(({ inside, outside, count }) => [inside, outside, count].map(String));
    await promisify(execFile)("newuidmap", [String(pid), ...numbers(map.uids)], { signal });
    await promisify(execFile)("newgidmap", [String(pid), ...numbers(map.gids)], { signal });
    return;
  }
  const lines = (ranges: readonly IdRange[]): string =>
    ranges.map(({ inside, outside, count }) => `${inside} ${outside} ${count}\n`).join("");
  // The kernel takes a group from an ordinary user only when nobody can drop groups any more.
  if (map.kind === "single") writeFileSync(`/proc/${pid}/setgroups`, "deny");
  writeFileSync(`/proc/${pid}/uid_map`, lines(map.uids));
  writeFileSync(`/proc/${pid}/gid_map`, lines(map.gids));
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
