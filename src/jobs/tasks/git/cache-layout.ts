import { createHash } from "node:crypto";
import { access } from "node:fs/promises";
import { join } from "node:path";

/** The files of one repository in the cache. */
export interface RepositoryLayout {
  readonly directory: string;
  /** What the repository is, for people who look at the cache. */
  readonly description: string;
  /** Commits and trees, with only the blobs somebody asked for. */
  readonly partialGitDir: string;
  /** Everything, for servers that give nothing less. */
  readonly wholeGitDir: string;
  /** Held while objects are fetched and trees are made. */
  readonly fetchLock: string;
  /** Held for moments, while trees are claimed or removed. */
  readonly shelfLock: string;
  /** One file for each process that uses trees. */
  readonly holders: string;
}

/** Where all repositories of a user's cache are. */
export function gitCacheRoot(cacheDir: string): string {
  return join(cacheDir, "git");
}

/** Where the files of one repository are. */
export function layoutOf(directory: string): RepositoryLayout {
  return {
    directory,
    description: join(directory, "repository.json"),
    partialGitDir: join(directory, "partial.git"),
    wholeGitDir: join(directory, "whole.git"),
    fetchLock: join(directory, "fetch.lock"),
    shelfLock: join(directory, "shelf.lock"),
    holders: join(directory, "holders"),
  };
}

/** Whether a name in a repository's directory is that of a commit's trees. */
export function isCommitName(name: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(name);
}

/** The directory that holds one path of one commit; it exists only when it is whole. */
export function treeDirectory(layout: RepositoryLayout, commit: string, path: string): string {
  return join(layout.directory, commit, encodePath(path));
}

/** The file that tells when a commit's trees were last used. */
export function usageFile(layout: RepositoryLayout, commit: string): string {
  return join(layout.directory, commit, ".used.json");
}

// Each path has a directory of its own, so that one can be added or removed without touching another that contains it.
function encodePath(path: string): string {
  const encoded = encodeURIComponent(path).replace(/^\./, "%2E") || "%2E";
  if (encoded.length <= 200) return encoded;
  return `${encoded.slice(0, 150)}%~${createHash("sha256").update(path).digest("hex").slice(0, 24)}`;
}

/** The path a tree's directory stands for, shortened where its name was. */
export function decodePath(name: string): string {
  const [head = "", hash] = name.split("%~");
  if (hash !== undefined) return `${head.replace(/%[0-9A-F]?$/, "")}…`;
  try {
    return decodeURIComponent(name);
  } catch {
    // Not a name of ours: somebody put it here by hand.
    return name;
  }
}

/** Whether something stands at a path. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
