import { createHash } from "node:crypto";
import { join } from "node:path";
import { hashSource, readSource, readTextIfAny, type BuildContext } from "../archive/build-context.ts";
import { parseDockerIgnore } from "../archive/docker-ignore.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";

/** What a builder gets to see of a directory, by the rules of its own ignore file or the Dockerfile's. */
export async function openDockerContext(directory: string): Promise<BuildContext> {
  const rules =
    (await readTextIfAny(join(directory, "Dockerfile.dockerignore"))) ??
    (await readTextIfAny(join(directory, ".dockerignore"))) ??
    "";
  const isIgnored = parseDockerIgnore(rules);
  // The builder needs these two whatever the rules say.
  const isNeeded = (path: string): boolean => path === "Dockerfile" || path === ".dockerignore";
  return { directory, isIgnored: (path) => isIgnored(path) && !isNeeded(path) };
}

/** What a builder gets to see of a directory, entry by entry; it belongs to root, whoever owns it here. */
export async function* readDockerContext(directory: string, signal: AbortSignal): AsyncGenerator<TreeEntry> {
  const context = await openDockerContext(directory);
  for await (const entry of readSource(context, "", signal)) {
    if (entry.path !== "") yield { ...entry, uid: 0, gid: 0 };
  }
}

/** What shapes an image beside its context. */
export interface BuildSettings {
  readonly args: Readonly<Record<string, string>>;
  readonly target: string | undefined;
  /** The names of secrets; their values shape nothing. */
  readonly secrets: readonly string[];
  readonly platform: string | undefined;
}

/** A name for what a Dockerfile makes, by content: the same one is built once. */
export async function hashBuild(contextDir: string, settings: BuildSettings, signal: AbortSignal): Promise<string> {
  const { args, target, secrets, platform } = settings;
  const names = Object.keys(args).sort();
  const shape = [names.map((name) => [name, args[name]]), target ?? "", secrets.toSorted(), platform ?? ""];
  const hash = createHash("sha256").update(JSON.stringify(shape));
  hash.update(await hashSource(await openDockerContext(contextDir), "", signal));
  return hash.digest("hex").slice(0, 24);
}
