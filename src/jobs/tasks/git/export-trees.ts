import { randomBytes } from "node:crypto";
import { cp, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { treeDirectory } from "./cache-layout.ts";
import { fetchBlobs, fetchWholeCommit, runLocal, type Repository } from "./fetch-commits.ts";
import { describeGitFailure, type GitFailure } from "./git-failure.ts";
import { findTreeFault, isInside, listTree, type TreeEntry } from "./list-tree.ts";

/** What became of one path: null when its tree is in the cache, else what is wrong with the path itself. */
export type ExportFault = { readonly reason: string; readonly isMissing: boolean } | null;

/** Puts paths of a fetched commit into the cache as plain directories, each appearing whole or not at all. */
export async function exportTrees(
  repository: Repository,
  gitDir: string,
  commit: string,
  paths: readonly string[],
): Promise<Map<string, ExportFault> | GitFailure> {
  const entries = await listTree(repository, gitDir, commit, [...paths, ...attributePaths(paths)]);
  if (!(entries instanceof Map)) return entries;
  const faults = new Map<string, ExportFault>();
  for (const path of paths) {
    const reason = findTreeFault(entries, path);
    faults.set(path, reason === null ? null : { reason, isMissing: path !== "" && !entries.has(path) });
  }
  const sound = paths.filter((path) => faults.get(path) === null);
  if (sound.length === 0) return faults;
  const source = await completeBlobs(repository, gitDir, commit, entries);
  if (typeof source !== "string") return source;
  const staging = join(repository.layout.directory, `tmp-${randomBytes(6).toString("hex")}`);
  try {
    const failure = await checkOut(repository, source, commit, entries, sound, staging);
    if (failure !== null) return failure;
    for (const [path, reason] of await findLfsFiles(repository, source, entries, sound, staging)) {
      faults.set(path, { reason, isMissing: false });
    }
    const good = sound.filter((path) => faults.get(path) === null);
    await publish(repository, commit, good, join(staging, "tree"));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return faults;
}

// Attributes above a task decide about line endings inside it, as they would in a clone.
function attributePaths(paths: readonly string[]): string[] {
  const directories = new Set<string>();
  for (const path of paths) {
    for (let above = path; above !== "" && above !== "."; above = dirname(above)) directories.add(dirname(above));
  }
  return [...directories].map((directory) => (directory === "." ? ".gitattributes" : `${directory}/.gitattributes`));
}

/** The repository that has every blob of the entries. */
async function completeBlobs(
  repository: Repository,
  gitDir: string,
  commit: string,
  entries: ReadonlyMap<string, TreeEntry>,
): Promise<string | GitFailure> {
  if (gitDir !== repository.layout.partialGitDir) return gitDir;
  const args = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)"];
  const present = new Set((await runLocal(repository, gitDir, args)).stdout.split("\n"));
  const blobs = [...entries.values()].filter((entry) => entry.mode.startsWith("1") && entry.mode !== "160000");
  const missing = [...new Set(blobs.map((entry) => entry.oid))].filter((oid) => !present.has(oid));
  if (missing.length === 0) return gitDir;
  const failure = await fetchBlobs(repository, gitDir, missing);
  if (failure === null) return gitDir;
  if (failure.isTransient) return failure;
  // Some servers leave blobs out when asked to and then refuse to give single ones.
  const whole = await fetchWholeCommit(repository, commit);
  return "gitDir" in whole ? whole.gitDir : whole.failure;
}

async function checkOut(
  repository: Repository,
  gitDir: string,
  commit: string,
  entries: ReadonlyMap<string, TreeEntry>,
  paths: readonly string[],
  staging: string,
): Promise<GitFailure | null> {
  const cwd = join(staging, "tree");
  await mkdir(cwd, { recursive: true });
  const attributes = attributePaths(paths).filter((path) => entries.get(path)?.mode.startsWith("100"));
  const args = [`--work-tree=${cwd}`, "--literal-pathspecs", "checkout", "--quiet", "--force", commit];
  const outcome = await runLocal(repository, gitDir, [...args, "--pathspec-from-file=-", "--pathspec-file-nul"], {
    stdin: [...attributes, ...paths].map((path) => path || ".").join("\0"),
    cwd,
    env: { GIT_INDEX_FILE: join(staging, "index") },
  });
  return outcome.exitCode === 0 ? null : describeGitFailure(outcome, repository.context.stallMs);
}

/** Tasks with files that are kept in Git LFS: what was checked out are pointers, and running on those would measure nothing. */
async function findLfsFiles(
  repository: Repository,
  gitDir: string,
  entries: ReadonlyMap<string, TreeEntry>,
  paths: readonly string[],
  staging: string,
): Promise<[string, string][]> {
  if (![...entries.keys()].some((path) => path.endsWith(".gitattributes"))) return [];
  const cwd = join(staging, "tree");
  const args = [`--work-tree=${cwd}`, "ls-files", "-z", "--", ":(attr:filter=lfs)"];
  const env = { GIT_INDEX_FILE: join(staging, "index") };
  const files = (await runLocal(repository, gitDir, args, { cwd, env })).stdout
    .split("\0")
    .filter((file) => file !== "");
  return paths.flatMap((path): [string, string][] => {
    const file = files.find((candidate) => isInside(candidate, path));
    return file === undefined
      ? []
      : [[path, `keeps ${file} in Git LFS, which is not fetched; use a clone of it as a local dataset`]];
  });
}

async function publish(repository: Repository, commit: string, paths: readonly string[], tree: string): Promise<void> {
  if (paths.length === 0) return;
  await mkdir(join(repository.layout.directory, commit), { recursive: true });
  const isNested = (path: string): boolean => paths.some((other) => other !== path && isInside(path, other));
  // A path inside another is copied out before the other one moves.
  const inner = paths.filter(isNested);
  for (const path of inner) {
    const copy = `${tree}-${inner.indexOf(path)}`;
    await cp(join(tree, path), copy, { recursive: true, verbatimSymlinks: true });
    await rename(copy, treeDirectory(repository.layout, commit, path));
  }
  for (const path of paths.filter((path) => !isNested(path))) {
    await rename(join(tree, path), treeDirectory(repository.layout, commit, path));
  }
}
