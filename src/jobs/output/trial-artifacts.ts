import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { mediaTypeOf } from "../../store/media-type.ts";
import type { Artifact } from "../../store/run.ts";

// A trial can leave a million files.
const maxArtifacts = 200;
const maxDepth = 6;

/** Lists the regular files of a trial directory, at most 200, without following links. Returns none if it is missing. */
export async function listArtifacts(dir: string): Promise<readonly Artifact[]> {
  const found: Artifact[] = [];
  await addFiles(dir, "", 0, found);
  return found;
}

async function addFiles(dir: string, prefix: string, depth: number, found: Artifact[]): Promise<void> {
  const entries = await readdir(join(dir, prefix), { withFileTypes: true }).catch(() => []);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (found.length >= maxArtifacts) return;
    const name = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    if (entry.isDirectory() && depth < maxDepth) await addFiles(dir, name, depth + 1, found);
    else if (entry.isFile()) {
      const stats = await lstat(join(dir, name)).catch(() => null);
      if (stats?.isFile()) found.push({ name, size: stats.size, mediaType: mediaTypeOf(name) });
    }
  }
}
