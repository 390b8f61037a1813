import { statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { jobPaths } from "../output/job-paths.ts";

export interface FoundJob {
  readonly dir: string;
  /** Changes with run.json; null if the job has none. */
  readonly runStamp: string | null;
}

/** Returns the job directories among the roots and directly below them, in the order of the roots and by name. */
export async function findJobs(roots: readonly string[], cwd: string): Promise<readonly FoundJob[]> {
  const found = new Map<string, FoundJob>();
  for (const root of roots) {
    const path = resolve(cwd, root);
    const own = inspect(path);
    const jobs = own ? [own] : (await listDirectories(path)).flatMap((dir) => inspect(dir) ?? []);
    for (const job of jobs) if (!found.has(job.dir)) found.set(job.dir, job);
  }
  return [...found.values()];
}

async function listDirectories(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const directories = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
  return directories.map(({ name }) => join(path, name)).sort();
}

// A working directory has `.rollout` too, with its store. Synchronous: one call takes microseconds, and there are many.
function inspect(dir: string): FoundJob | null {
  const { run, journal } = jobPaths(dir);
  const stats = stat(run);
  if (stats) return { dir, runStamp: `${stats.ino}:${stats.size}:${stats.mtimeMs}` };
  return stat(journal) ? { dir, runStamp: null } : null;
}

function stat(path: string): ReturnType<typeof statSync> | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
