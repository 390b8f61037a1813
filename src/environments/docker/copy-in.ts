import { posix } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { encodeTar } from "../archive/encode-tar.ts";
import { placementEntries } from "../archive/placement-entries.ts";
import { planPlacements, type PlacementGroup } from "../archive/plan-placements.ts";
import { requireSource } from "../archive/require-source.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import type { Placement } from "../environment.ts";
import type { Engine } from "./connection/open-engine.ts";
import { hasStatus } from "./connection/engine-error.ts";
import { logsPath } from "./log-volume.ts";
import type { ContainerCommands } from "./container-commands.ts";

// The volume of the logs cannot be removed in a container that has one; emptied it is as good as new everywhere.
const mountPoints: ReadonlySet<string> = new Set([logsPath]);
const emptyScript = 'shopt -s dotglob nullglob; for path; do rm -rf -- "$path"/*; done';

export interface CopyInOptions {
  readonly engine: Engine;
  readonly id: string;
  /** Null while the container has not been started and runs no commands. */
  readonly commands: ContainerCommands | null;
  /** Remembers where something stands, for containers that are all the same before they start. */
  readonly known: Map<string, boolean> | null;
  readonly signal: AbortSignal;
}

/** Puts things into a container by way of the engine; false when something is in the way and no command can remove it yet. */
export async function copyIn(items: readonly Placement[], options: CopyInOptions): Promise<boolean> {
  for (const item of items) if (item.kind === "tree") await requireSource(item.source);
  for (const [index, group] of planPlacements(items, mountPoints).entries()) {
    // What the first group has placed is only the engine's to tell.
    if (!(await placeGroup(group, index === 0 ? options : { ...options, known: null }))) return false;
  }
  return true;
}

async function placeGroup(group: PlacementGroup, options: CopyInOptions): Promise<boolean> {
  const { emptied, removed, parents, items } = group;
  const standing = await findStanding(removed, options);
  if (standing.length > 0) {
    if (options.commands === null) return false;
    await remove(standing, options, options.commands);
  }
  const filled = await findStanding(emptied, options);
  if (filled.length > 0) {
    if (options.commands === null) return false;
    await options.commands.runTool(["bash", "-p", "-c", emptyScript, "bash", ...filled], options.signal);
  }
  if (items.length === 0) return true;
  const missing = await findMissingParents(parents, options);
  async function* entries(): AsyncGenerator<TreeEntry> {
    for (const path of missing) {
      yield { type: "directory", path: path.slice(1), mode: 0o755, uid: 0, gid: 0, mtimeMs: Date.now() };
    }
    yield* placementEntries(items, options.signal);
  }
  const { engine, id, signal } = options;
  const path = `/containers/${id}/archive`;
  const headers = { "content-type": "application/x-tar" };
  const answer = await engine.client.open({
    method: "PUT",
    path,
    query: { path: "/" },
    headers,
    body: encodeTar(entries()),
    signal,
  });
  answer.resume();
  return true;
}

async function remove(paths: readonly string[], options: CopyInOptions, commands: ContainerCommands): Promise<void> {
  const { exitCode, output } = await commands.runTool(["rm", "-rf", "--", ...paths], options.signal);
  // The tool is the container's own and may lie; the engine does not.
  const left = await findStanding(paths, options);
  if (left.length === 0) return;
  const why = output.trim() || `rm ended with ${exitCode}`;
  throw new RolloutError("copy_failed", `cannot replace ${left.join(", ")} in the container: ${why}`);
}

async function findStanding(paths: readonly string[], options: CopyInOptions): Promise<string[]> {
  const found = await Promise.all(paths.map(async (path) => ((await stands(path, options)) ? [path] : [])));
  return found.flat();
}

// Topmost first, as they must be made.
async function findMissingParents(parents: readonly string[], options: CopyInOptions): Promise<string[]> {
  const missing = new Set<string>();
  for (const parent of parents) {
    for (let path = parent; path !== "/" && !missing.has(path); path = posix.dirname(path)) {
      if (await stands(path, options)) break;
      missing.add(path);
    }
  }
  return [...missing].sort((one, other) => one.length - other.length);
}

async function stands(path: string, options: CopyInOptions): Promise<boolean> {
  const known = options.known?.get(path);
  if (known !== undefined) return known;
  const found = await askWhetherStands(path, options);
  options.known?.set(path, found);
  return found;
}

async function askWhetherStands(path: string, { engine, id, signal }: CopyInOptions): Promise<boolean> {
  try {
    await engine.client.text({ method: "HEAD", path: `/containers/${id}/archive`, query: { path }, signal });
    return true;
  } catch (error) {
    if (hasStatus(error, 404)) return false;
    throw error;
  }
}
