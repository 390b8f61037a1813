import { readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { toPathSegment } from "../../base/path-segment.ts";
import { isExperiment } from "../output/directory/run-file.ts";

/** Returns directories that may hold an experiment, by id: each root that is one, and everything directly below the others. */
export async function findExperiments(roots: readonly string[], cwd: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const root of roots) {
    const path = resolve(cwd, root);
    const directories = (await isExperiment(path)) ? [path] : await listDirectories(path);
    // Of two with the same name, the first counts.
    for (const directory of directories) if (!found.has(basename(directory))) found.set(basename(directory), directory);
  }
  return found;
}

/** Returns the directories that may hold the experiment with an id, in the order of the roots. */
export async function locateExperiment(id: string, roots: readonly string[], cwd: string): Promise<readonly string[]> {
  if (id !== toPathSegment(id)) return [];
  const found: string[] = [];
  for (const root of roots) {
    const path = resolve(cwd, root);
    if (!(await isExperiment(path))) found.push(join(path, id));
    else if (basename(path) === id) found.push(path);
  }
  return found;
}

async function listDirectories(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const directories = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
  return directories.map(({ name }) => join(path, name)).sort();
}
