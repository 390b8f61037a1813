import { runLocal, type Repository } from "./fetch-commits.ts";
import { describeGitFailure, type GitFailure } from "./git-failure.ts";

/** One entry of a commit's tree. */
export interface TreeEntry {
  readonly mode: string;
  readonly oid: string;
  readonly path: string;
}

const pathsPerCall = 500;

/** The entries at and below the given paths of a commit, trees included, each once. */
export async function listTree(
  repository: Repository,
  gitDir: string,
  commit: string,
  paths: readonly string[],
): Promise<Map<string, TreeEntry> | GitFailure> {
  const entries = new Map<string, TreeEntry>();
  const batches = paths.includes("") ? [[]] : chunk(paths, pathsPerCall);
  for (const batch of batches) {
    const args = ["ls-tree", "-r", "-t", "-z", "--full-tree", commit, ...(batch.length > 0 ? ["--", ...batch] : [])];
    const outcome = await runLocal(repository, gitDir, args);
    if (outcome.exitCode !== 0) return describeGitFailure(outcome, repository.context.stallMs);
    for (const line of outcome.stdout.split("\0")) {
      const match = /^(\d+) \w+ ([0-9a-f]+)\t(.+)$/s.exec(line);
      if (match === null) continue;
      const [, mode = "", oid = "", path = ""] = match;
      entries.set(path, { mode, oid, path });
    }
  }
  return entries;
}

/** Why a path of a commit cannot be a task, or null when it can. */
export function findTreeFault(entries: ReadonlyMap<string, TreeEntry>, path: string): string | null {
  if (path !== "") {
    const entry = entries.get(path);
    if (entry === undefined) return "does not exist";
    if (entry.mode === "120000") return "is a symbolic link";
    if (entry.mode === "160000") return "is a submodule, which is not fetched";
    if (entry.mode !== "040000") return "is a file, not a directory";
  }
  const submodule = [...entries.values()].find((entry) => entry.mode === "160000" && isInside(entry.path, path));
  return submodule === undefined ? null : `holds the submodule ${submodule.path}, which is not fetched`;
}

/** Whether a path is the given directory or lies below it. */
export function isInside(path: string, directory: string): boolean {
  return directory === "" || path === directory || path.startsWith(`${directory}/`);
}

function chunk<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
