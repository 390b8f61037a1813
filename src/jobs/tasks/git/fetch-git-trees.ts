import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../../base/log.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../../base/rollout-error.ts";
import { mapBounded } from "../map-bounded.ts";
import { acquireProcessLock } from "../../../base/process-lock.ts";
import { gitCacheRoot, layoutOf, type RepositoryLayout } from "./cache-layout.ts";
import { claimTrees, type ClaimOptions } from "./claim-trees.ts";
import { exportTrees } from "./export-trees.ts";
import { fetchCommits, type Repository } from "./fetch-commits.ts";
import type { GitFailure } from "./git-failure.ts";
import { checkGitVersion, readHeadCommit, readRemoteEnv } from "./git-remote.ts";
import { parseCommitId, parseGitUrl, parseTreePath, type GitUrl } from "./git-url.ts";
import { failTree, type FailedTree, type GitTree, type GitTreeRequest } from "./git-tree.ts";
import type { GitContext } from "./run-git.ts";

export interface GitCacheOptions extends ClaimOptions {
  readonly log: Log;
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly stallMs?: number | undefined;
}

interface Wanted {
  readonly index: number;
  readonly url: GitUrl;
  readonly commit: string | null;
  readonly path: string;
}
type Pinned = Wanted & { readonly commit: string };
type Settle = (wanted: Wanted, tree: GitTree) => void;

const repositoriesAtOnce = 4;

/**
 * Brings directories of Git repositories to this machine, each repository in as few fetches as its server allows.
 * What is pinned and was fetched before needs no network. Failures are results; it rejects for a missing git or a bad disk.
 */
export async function fetchGitTrees(requests: readonly GitTreeRequest[], options: GitCacheOptions): Promise<GitTree[]> {
  const trees = new Map<number, GitTree>();
  const settle: Settle = (wanted, tree) => trees.set(wanted.index, tree);
  const wanted = requests.flatMap((request, index): Wanted[] => {
    const parsed = parseRequest(request, index);
    if ("status" in parsed) trees.set(index, parsed);
    return "status" in parsed ? [] : [parsed];
  });
  const byRepository = Map.groupBy(wanted, (one) => one.url.key);
  await mapBounded([...byRepository.values()], repositoriesAtOnce, (group) => fetchRepository(group, settle, options));
  return requests.map((_, index) => trees.get(index) ?? failTree("task_not_found", null, "was not fetched"));
}

function parseRequest(request: GitTreeRequest, index: number): Wanted | FailedTree {
  try {
    const { url, path, commit } = request;
    return { index, url: parseGitUrl(url), path: parseTreePath(path), commit: parseCommitId(commit) };
  } catch (error) {
    if (!(error instanceof RolloutError)) throw error;
    return failTree("task_invalid", request.commit, error.hint ? `${error.message}; ${error.hint}` : error.message);
  }
}

async function fetchRepository(group: readonly Wanted[], settle: Settle, options: GitCacheOptions): Promise<void> {
  const [first] = group;
  if (first === undefined) return;
  const context: GitContext = { ...options, stallMs: options.stallMs ?? 120_000 };
  const layout = layoutOf(join(gitCacheRoot(options.host.cacheDir), first.url.key));
  try {
    const pinned = await pinNewest(group, settle, context);
    const missing = await settleCached(layout, pinned, settle, options);
    if (missing.length > 0) await fetchMissing(layout, missing, settle, context, options);
  } catch (error) {
    if (options.signal.aborted || error instanceof RolloutError || systemCodeOf(error) === undefined) throw error;
    const message = `the cache ${layout.directory} cannot be used: ${messageOf(error)}`;
    throw new RolloutError("io_failed", message, { hint: "check its permissions and free space", cause: error });
  }
}

async function pinNewest(group: readonly Wanted[], settle: Settle, context: GitContext): Promise<Pinned[]> {
  const open = group.filter((one) => one.commit === null);
  const pinned = group.flatMap((one): Pinned[] => (one.commit === null ? [] : [{ ...one, commit: one.commit }]));
  const [first] = open;
  if (first === undefined) return pinned;
  await checkGitVersion(context);
  try {
    const commit = await readHeadCommit(first.url, context);
    return [...pinned, ...open.map((one) => ({ ...one, commit }))];
  } catch (error) {
    if (!(error instanceof RolloutError)) throw error;
    const failed = failTree("task_not_found", null, `${error.message}; ${error.hint}`, error.transient);
    for (const one of open) settle(one, failed);
    return pinned;
  }
}

/** Settles what is in the cache, now claimed for this process, and returns the rest. */
async function settleCached(
  layout: RepositoryLayout,
  wanted: readonly Pinned[],
  settle: Settle,
  options: GitCacheOptions,
): Promise<Pinned[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const directories = await claimTrees(layout, first.url.shown, wanted, options);
  return wanted.filter((one, index) => {
    const directory = directories[index] ?? null;
    if (directory !== null) settle(one, { status: "ready", url: one.url.shown, commit: one.commit, directory });
    return directory === null;
  });
}

async function fetchMissing(
  layout: RepositoryLayout,
  wanted: readonly Pinned[],
  settle: Settle,
  context: GitContext,
  options: GitCacheOptions,
): Promise<void> {
  const { url } = wanted[0] ?? {};
  if (url === undefined) return;
  const say = (line: string): void => {
    options.log.write("info", line);
    options.onProgress?.(line);
  };
  await using _fetching = await acquireProcessLock(layout.fetchLock, {
    ...options,
    onWait: (owner) => say(`waiting for process ${owner.pid}, which is fetching ${url.shown}`),
  });
  await sweepLeftovers(layout);
  // Whoever held the lock before may have brought what we want.
  const missing = await settleCached(layout, wanted, settle, options);
  if (missing.length === 0) return;
  await checkGitVersion(context);
  const byCommit = Map.groupBy(missing, (one) => one.commit);
  const commits = [...byCommit.keys()];
  const count = new Set(missing.map((one) => `${one.commit} ${one.path}`)).size;
  const short = commits.map((commit) => commit.slice(0, 8)).join(", ");
  say(`fetching ${count} ${count === 1 ? "task" : "tasks"} of ${url.shown} at ${short}`);
  const repository = { url, layout, context, remoteEnv: await readRemoteEnv(url, context) };
  const fetched = await fetchCommits(repository, commits);
  for (const [commit, group] of byCommit) {
    const source = fetched.get(commit);
    if (source === undefined) continue;
    if ("gitDir" in source) await exportGroup(repository, source.gitDir, commit, group, settle);
    else settleFailure(group, `commit ${commit} of ${url.shown}`, source.failure, settle);
  }
  await settleCached(layout, missing, settle, options);
}

function settleFailure(group: readonly Pinned[], what: string, failure: GitFailure, settle: Settle): void {
  const message = `${what} could not be fetched: ${failure.message}`;
  for (const one of group) settle(one, failTree("task_not_found", one.commit, message, failure.isTransient));
}

async function exportGroup(
  repository: Repository,
  gitDir: string,
  commit: string,
  group: readonly Pinned[],
  settle: Settle,
): Promise<void> {
  const place = `${repository.url.shown} at ${commit}`;
  const faults = await exportTrees(repository, gitDir, commit, [...new Set(group.map((one) => one.path))]);
  if (!(faults instanceof Map)) return settleFailure(group, `the files of ${place}`, faults, settle);
  for (const one of group) {
    const fault = faults.get(one.path);
    if (!fault) continue;
    const message = `${one.path || "."} ${fault.reason} in ${place}`;
    settle(one, failTree(fault.isMissing ? "task_not_found" : "task_invalid", commit, message));
  }
}

// A killed process leaves half-made trees and the locks of its git behind; we hold the lock, so nobody needs them.
async function sweepLeftovers(layout: RepositoryLayout): Promise<void> {
  for (const directory of [layout.directory, layout.partialGitDir, layout.wholeGitDir]) {
    const names = await readdir(directory).catch(() => []);
    const isTop = directory === layout.directory;
    const left = names.filter((name) => (isTop ? /^tmp-|\.old$/.test(name) : name.endsWith(".lock")));
    await Promise.all(left.map((name) => rm(join(directory, name), { recursive: true, force: true })));
  }
}
