import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

const limitMs = 2000;

/** The commit of a working tree, and whether tracked files differ from it. */
export interface GitState {
  readonly revision: string;
  readonly isDirty: boolean;
}

/** Reads the state of the working tree that holds a directory; null outside of one, without git, or after 2 seconds. */
export async function readGitState(
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<GitState | null> {
  const options = {
    cwd: directory,
    timeout: limitMs,
    env: { ...env, GIT_OPTIONAL_LOCKS: "0" },
    encoding: "utf8",
  } as const;
  try {
    const [revision, status] = await Promise.all([
      run("git", ["rev-parse", "HEAD"], options),
      run("git", ["status", "--porcelain", "--untracked-files=no"], { ...options, maxBuffer: 64 << 20 }),
    ]);
    return { revision: revision.stdout.trim(), isDirty: status.stdout.trim() !== "" };
  } catch {
    return null;
  }
}
