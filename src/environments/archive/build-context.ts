import { createHash } from "node:crypto";
import { globSync, lstatSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { readTree } from "./read-tree.ts";
import type { TreeEntry } from "./tree-entry.ts";
import { parseDockerIgnore } from "./docker-ignore.ts";

/** The directory that a Dockerfile copies from. */
export interface BuildContext {
  readonly directory: string;
  readonly isIgnored: (path: string) => boolean;
}

/** Reads what a context leaves out. */
export async function openBuildContext(directory: string): Promise<BuildContext> {
  return { directory, isIgnored: parseDockerIgnore((await readTextIfAny(join(directory, ".dockerignore"))) ?? "") };
}

/** The text of a file; null when there is none. */
export async function readTextIfAny(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT" || systemCodeOf(error) === "ENOTDIR") return null;
    throw new RolloutError("io_failed", `cannot read ${path}`, { cause: error });
  }
}

/** The paths of a context that a source names, which may hold wildcards; a path cannot leave the context. */
export function findSources(context: BuildContext, source: string): string[] {
  const path = posix.resolve("/", source).slice(1);
  if (!/[*?[]/.test(path)) {
    const isThere = lstatSync(join(context.directory, path), { throwIfNoEntry: false }) !== undefined;
    return isThere && (path === "" || !isLeftOut(context, path)) ? [path] : [];
  }
  return globSync(path, { cwd: context.directory })
    .filter((found) => !isLeftOut(context, found))
    .sort();
}

// A directory that is left out may hold what an exception brings back.
function isLeftOut(context: BuildContext, path: string): boolean {
  return context.isIgnored(path) && !statSync(join(context.directory, path), { throwIfNoEntry: false })?.isDirectory();
}

/** The tree at a path of a context without what is left out; paths are relative to it. */
export async function* readSource(context: BuildContext, path: string, signal: AbortSignal): AsyncGenerator<TreeEntry> {
  for await (const entry of readTree(join(context.directory, path), signal)) {
    const inContext = posix.join(path, entry.path);
    if (inContext === "." || entry.path === "" || !context.isIgnored(inContext)) yield entry;
  }
}

/** A fingerprint of a tree: names, kinds, permissions and contents, but neither times nor owners. */
export async function hashSource(context: BuildContext, path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for await (const entry of readSource(context, path, signal)) {
    const link = "linkTarget" in entry ? entry.linkTarget : "";
    hash.update(JSON.stringify([entry.path, entry.type, entry.mode, link]));
    if (entry.type !== "file") continue;
    hash.update(String(entry.size));
    for await (const chunk of entry.body) hash.update(chunk);
  }
  return hash.digest("hex");
}
