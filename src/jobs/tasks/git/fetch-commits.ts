import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describeGitFailure, type GitFailure } from "./git-failure.ts";
import { exists, type RepositoryLayout } from "./cache-layout.ts";
import type { RemoteEnv } from "./git-remote.ts";
import type { GitUrl } from "./git-url.ts";
import { runGit, type GitContext, type GitOutcome } from "./run-git.ts";

/** A repository and its place in the cache. */
export interface Repository {
  readonly url: GitUrl;
  readonly layout: RepositoryLayout;
  readonly remoteEnv: RemoteEnv;
  readonly context: GitContext;
}

/** Where a commit's objects are, or why they are not here. */
export type FetchedCommit = { readonly gitDir: string } | { readonly failure: GitFailure };

const quietFetch = ["fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--progress"];

/** Brings commits into the cache, all in one fetch where the server lets us, without history and blobs where it can. */
export async function fetchCommits(
  repository: Repository,
  commits: readonly string[],
): Promise<Map<string, FetchedCommit>> {
  const found = new Map<string, FetchedCommit>();
  for (const commit of commits) {
    const gitDir = await findCommit(repository, commit);
    if (gitDir !== null) found.set(commit, { gitDir });
  }
  const missing = commits.filter((commit) => !found.has(commit));
  if (missing.length === 0) return found;
  const gitDir = repository.layout.partialGitDir;
  const failure = await fetchShallow(repository, gitDir, missing, ["--filter=blob:none"]);
  for (const commit of missing) {
    if (failure === null) found.set(commit, { gitDir });
    else if (failure.isFinal && !failure.isUnknownObject) found.set(commit, { failure });
    // One unknown commit fails the fetch of all, so each is asked for by itself.
    else if (missing.length > 1) found.set(commit, await fetchOne(repository, commit));
    else if (failure.isUnknownObject && !(await isInHistory(repository, commit))) found.set(commit, { failure });
    else found.set(commit, await fetchWholeCommit(repository, commit));
  }
  return found;
}

async function fetchOne(repository: Repository, commit: string): Promise<FetchedCommit> {
  const fetched = await fetchCommits(repository, [commit]);
  return fetched.get(commit) ?? { failure: unknownCommit(commit) };
}

/** Brings all of a commit into the cache, from servers that can send neither a part nor a single commit too. */
export async function fetchWholeCommit(repository: Repository, commit: string): Promise<FetchedCommit> {
  const gitDir = repository.layout.wholeGitDir;
  if (await hasWholeCommit(repository, commit)) return { gitDir };
  const shallow = await fetchShallow(repository, gitDir, [commit], []);
  if (shallow === null) return { gitDir };
  if (shallow.isFinal && !shallow.isUnknownObject) return { failure: shallow };
  const failure = await fetchEverything(repository, gitDir, []);
  if (failure !== null) return { failure };
  return (await hasWholeCommit(repository, commit)) ? { gitDir } : { failure: unknownCommit(commit) };
}

// Some servers deny all but the tips of branches: the history, without any files, tells whether the commit is there.
async function isInHistory(repository: Repository, commit: string): Promise<boolean> {
  const gitDir = join(repository.layout.directory, `tmp-${randomBytes(6).toString("hex")}`);
  try {
    if ((await initBare(repository, gitDir, commit)) !== null) return false;
    if ((await fetchEverything(repository, gitDir, ["--filter=tree:0"])) !== null) return false;
    return await succeeds(repository, gitDir, ["cat-file", "-e", commit]);
  } finally {
    await rm(gitDir, { recursive: true, force: true });
  }
}

function unknownCommit(commit: string): GitFailure {
  return { message: `it has no commit ${commit}`, isTransient: false, isFinal: true, isUnknownObject: true };
}

async function findCommit(repository: Repository, commit: string): Promise<string | null> {
  const { partialGitDir, wholeGitDir } = repository.layout;
  if (await succeeds(repository, partialGitDir, ["rev-parse", "--verify", "--quiet", `refs/rollout/${commit}`])) {
    return partialGitDir;
  }
  return (await hasWholeCommit(repository, commit)) ? wholeGitDir : null;
}

function hasWholeCommit(repository: Repository, commit: string): Promise<boolean> {
  return succeeds(repository, repository.layout.wholeGitDir, ["cat-file", "-e", `${commit}^{commit}`]);
}

async function succeeds(repository: Repository, gitDir: string, args: readonly string[]): Promise<boolean> {
  return (await exists(`${gitDir}/HEAD`)) && (await runLocal(repository, gitDir, args)).exitCode === 0;
}

async function fetchShallow(
  repository: Repository,
  gitDir: string,
  commits: readonly string[],
  filter: readonly string[],
): Promise<GitFailure | null> {
  const broken = await initBare(repository, gitDir, commits[0] ?? "");
  if (broken !== null) return broken;
  // A ref for each commit tells later fetches what is here, and is written only once all of it has arrived.
  const refspecs = commits.map((commit) => `${commit}:refs/rollout/${commit}`);
  return runRemote(repository, gitDir, [...quietFetch, "--depth=1", ...filter, "origin", ...refspecs], "");
}

async function fetchEverything(
  repository: Repository,
  gitDir: string,
  filter: readonly string[],
): Promise<GitFailure | null> {
  const refspecs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
  // Only a repository that is already cut short may be asked to be completed.
  const unshallow = (await exists(`${gitDir}/shallow`)) ? ["--unshallow"] : [];
  return runRemote(repository, gitDir, [...quietFetch, ...unshallow, ...filter, "origin", ...refspecs], "");
}

/** Brings single blobs into a partial repository in one fetch; null when they came. */
export async function fetchBlobs(
  repository: Repository,
  gitDir: string,
  blobs: readonly string[],
): Promise<GitFailure | null> {
  // Negotiation would walk commits whose blobs we never had.
  const args = ["-c", "fetch.negotiationAlgorithm=noop", ...quietFetch, "--filter=blob:none", "--stdin", "origin"];
  return runRemote(repository, gitDir, args, blobs.map((blob) => `${blob}\n`).join(""));
}

// Also completes a repository whose making was interrupted.
async function initBare({ context }: Repository, gitDir: string, commit: string): Promise<GitFailure | null> {
  const format = commit.length === 64 ? ["--object-format=sha256"] : [];
  const outcome = await runGit({ args: ["init", "--bare", "--quiet", "--template=", ...format, gitDir] }, context);
  return outcome.exitCode === 0 ? null : { ...describeGitFailure(outcome, context.stallMs), isFinal: true };
}

async function runRemote(
  repository: Repository,
  gitDir: string,
  args: readonly string[],
  stdin: string,
): Promise<GitFailure | null> {
  const { remoteEnv, context } = repository;
  const outcome = await runGit({ args: [`--git-dir=${gitDir}`, ...args], stdin, env: remoteEnv }, context);
  return outcome.exitCode === 0 ? null : describeGitFailure(outcome, context.stallMs);
}

/** Runs git on what is in the cache; without a remote it cannot reach the network even if objects are missing. */
export async function runLocal(
  repository: Repository,
  gitDir: string,
  args: readonly string[],
  more: { readonly stdin?: string; readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<GitOutcome> {
  return runGit({ args: [`--git-dir=${gitDir}`, ...args], ...more }, repository.context);
}
