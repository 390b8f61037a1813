import { dirname, join } from "node:path";
import { exists } from "./git/cache-layout.ts";
import { runGit, type GitContext } from "./git/run-git.ts";

/** Tells the HEAD commit of the repository that holds a directory, whose path has no links; null when there is none. */
export type FindCommit = (directory: string) => Promise<string | null>;

/** A finder that asks git once for each repository. */
export function createCommitFinder(context: GitContext): FindCommit {
  const repositories = new Map<string, Promise<string | null>>();
  const commits = new Map<string, Promise<string | null>>();
  const findRepository = (directory: string): Promise<string | null> => {
    const known = repositories.get(directory);
    if (known !== undefined) return known;
    const found = (async () => {
      const gitDir = join(directory, ".git");
      if (await exists(gitDir)) return gitDir;
      const parent = dirname(directory);
      return parent === directory ? null : findRepository(parent);
    })();
    repositories.set(directory, found);
    return found;
  };
  return async (directory) => {
    const gitDir = await findRepository(directory);
    if (gitDir === null) return null;
    const known = commits.get(gitDir) ?? readHead(gitDir, context);
    commits.set(gitDir, known);
    return known;
  };
}

async function readHead(gitDir: string, context: GitContext): Promise<string | null> {
  try {
    // Naming the repository, rather than letting git look for it, also works in checkouts of another owner.
    const outcome = await runGit(
      { args: [`--git-dir=${gitDir}`, "rev-parse", "--verify", "--quiet", "HEAD"] },
      context,
    );
    const commit = outcome.stdout.trim();
    return outcome.exitCode === 0 && /^[0-9a-f]{40,64}$/.test(commit) ? commit : null;
  } catch (error) {
    if (context.signal.aborted) throw error;
    return null;
  }
}
