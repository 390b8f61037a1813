import { randomBytes } from "node:crypto";
import { lstat, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import { decodePath, gitCacheRoot, isCommitName, layoutOf, usageFile, type RepositoryLayout } from "./cache-layout.ts";
import { tryProcessLock } from "../../../base/process-lock.ts";
import { isOwnerAlive, parseOwner } from "../../../base/process-owner.ts";

/** What the cache keeps of one commit. */
export interface CachedCommit {
  readonly url: string;
  readonly commit: string;
  /** The task directories, as paths inside the repository. */
  readonly paths: readonly string[];
  readonly bytes: number;
  /** Null when it was never recorded. */
  readonly lastUsedMs: number | null;
}

/** The commits in a user's Git cache, by URL; an absent or foreign cache has none. */
export async function listGitCache(cacheDir: string): Promise<CachedCommit[]> {
  const found: CachedCommit[] = [];
  for (const directory of await listRepositories(cacheDir)) {
    const layout = layoutOf(directory);
    const url = readField(await readText(layout.description), "url");
    for (const commit of (await listNames(directory)).filter(isCommitName)) {
      const names = (await listNames(join(directory, commit))).filter((name) => !name.startsWith("."));
      const lastUsedMs = readField(await readText(usageFile(layout, commit)), "lastUsedMs");
      found.push({
        url: typeof url === "string" ? url : "(unknown)",
        commit,
        paths: names.map(decodePath).sort(),
        bytes: await measureBytes(join(directory, commit)),
        lastUsedMs: typeof lastUsedMs === "number" ? lastUsedMs : null,
      });
    }
  }
  return found.sort((a, b) => (a.url + a.commit < b.url + b.commit ? -1 : 1));
}

export interface CleanGitCacheOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Keeps commits that were used more recently; without it everything goes. */
  readonly olderThanMs?: number | undefined;
}

/** What cleaning did. */
export interface CleanedGitCache {
  readonly bytesFreed: number;
  /** Repositories left alone because a living process uses them. */
  readonly inUse: number;
}

/** Removes commits nobody uses, and repositories without any left; what a living process holds stays. */
export async function cleanGitCache(cacheDir: string, options: CleanGitCacheOptions): Promise<CleanedGitCache> {
  let bytesFreed = 0;
  let inUse = 0;
  bytesFreed += await removeLeftovers(gitCacheRoot(cacheDir));
  for (const directory of await listRepositories(cacheDir)) {
    options.signal.throwIfAborted();
    const freed = await cleanRepository(layoutOf(directory), options);
    if (freed === null) inUse++;
    else bytesFreed += freed;
  }
  return { bytesFreed, inUse };
}

async function cleanRepository(layout: RepositoryLayout, options: CleanGitCacheOptions): Promise<number | null> {
  await using fetching = await tryProcessLock(layout.fetchLock, options);
  if (fetching === null) return null;
  await using shelf = await tryProcessLock(layout.shelfLock, options);
  if (shelf === null || (await isHeld(layout, options))) return null;
  const commits = (await listNames(layout.directory)).filter(isCommitName);
  const old: string[] = [];
  for (const commit of commits) if (await isOld(layout, commit, options)) old.push(commit);
  if (old.length === commits.length) return remove(layout.directory);
  let freed = 0;
  for (const commit of old) freed += await remove(join(layout.directory, commit));
  return freed;
}

async function isHeld(layout: RepositoryLayout, { host, clock }: CleanGitCacheOptions): Promise<boolean> {
  for (const name of await listNames(layout.holders)) {
    const file = join(layout.holders, name);
    const owner = parseOwner(await readText(file));
    const sinceMs = (await stat(file).catch(() => null))?.mtimeMs ?? 0;
    if (owner !== null && isOwnerAlive(owner, host, clock.now() - sinceMs)) return true;
    await rm(file, { force: true });
  }
  return false;
}

async function isOld(layout: RepositoryLayout, commit: string, options: CleanGitCacheOptions): Promise<boolean> {
  if (options.olderThanMs === undefined) return true;
  const lastUsedMs = readField(await readText(usageFile(layout, commit)), "lastUsedMs");
  return typeof lastUsedMs !== "number" || options.clock.now() - lastUsedMs >= options.olderThanMs;
}

// What a cleaning that was killed had already moved out of the way.
async function removeLeftovers(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of (await listNames(directory)).filter((name) => name.endsWith(".old"))) {
    bytes += await measureBytes(join(directory, name));
    await rm(join(directory, name), { recursive: true, force: true });
  }
  return bytes;
}

// Moved out of the way first, so that a commit is never seen with half its trees.
async function remove(directory: string): Promise<number> {
  const away = `${directory}-${randomBytes(4).toString("hex")}.old`;
  await rename(directory, away);
  const bytes = await measureBytes(away);
  await rm(away, { recursive: true, force: true });
  return bytes;
}

async function listRepositories(cacheDir: string): Promise<string[]> {
  const root = gitCacheRoot(cacheDir);
  return (await listNames(root)).filter((name) => /^[0-9a-f]{24}$/.test(name)).map((name) => join(root, name));
}

async function listNames(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

async function measureBytes(path: string): Promise<number> {
  const info = await lstat(path).catch(() => null);
  if (info === null) return 0;
  if (!info.isDirectory()) return info.size;
  let bytes = 0;
  for (const name of await listNames(path)) bytes += await measureBytes(join(path, name));
  return bytes;
}

async function readText(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}

function readField(text: string, name: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null
      ? Object.entries(value).find(([key]) => key === name)?.[1]
      : undefined;
  } catch {
    return undefined;
  }
}
