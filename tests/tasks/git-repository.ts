import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { readHost, type Host } from "../../src/base/host.ts";
import { silentLog } from "../../src/base/log.ts";
import type { GitCacheOptions } from "../../src/jobs/tasks/git/fetch-git-trees.ts";

const run = promisify(execFile);
const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"];

/** Files of a task that loads, below a directory of a repository. */
export function taskFiles(path: string, toml = 'version = "1.0"\n'): Record<string, string> {
  return {
    [`${path}/task.toml`]: toml,
    [`${path}/instruction.md`]: "Say hello.\n",
    [`${path}/tests/test.sh`]: "echo 1 > /logs/verifier/reward.txt\n",
    [`${path}/environment/Dockerfile`]: "FROM scratch\n",
  };
}

export async function makeTempDir(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-tasks-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export async function git(cwd: string, ...args: string[]): Promise<string> {
  const { stdout } = await run("git", [...identity, ...args], { cwd });
  return stdout.trim();
}

/** A repository in a new directory with one commit of the given files; links start with `->`. */
export async function makeRepository(files: Record<string, string>): Promise<{ directory: string; commit: string }> {
  const directory = join(await makeTempDir(), "repo");
  await mkdir(directory);
  await git(directory, "init", "--quiet");
  return { directory, commit: await commitFiles(directory, files) };
}

export async function commitFiles(directory: string, files: Record<string, string>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    if (text.startsWith("->")) await symlink(text.slice(2), file);
    else await writeFile(file, text);
    if (path.endsWith("run.sh")) await chmod(file, 0o755);
  }
  await git(directory, "add", "--all", "--force");
  await git(directory, "commit", "--quiet", "--message", "test");
  return git(directory, "rev-parse", "HEAD");
}

/** Options for a cache of its own in a new directory. */
export async function makeCacheOptions(
  more: Partial<GitCacheOptions> & { env?: Record<string, string> } = {},
): Promise<GitCacheOptions & { readonly lines: string[] }> {
  const { env, ...options } = more;
  const lines: string[] = [];
  const own = readHost(process);
  const host: Host = { ...own, cacheDir: await makeTempDir(), env: { ...own.env, ...env } };
  return {
    host,
    clock: systemClock,
    signal: new AbortController().signal,
    log: silentLog,
    onProgress: (line) => lines.push(line),
    lines,
    ...options,
  };
}
