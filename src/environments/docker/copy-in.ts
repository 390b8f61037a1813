import { posix } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { encodeTar } from "../archive/encode-tar.ts";
import { placementEntries } from "../archive/placement-entries.ts";
import { planPlacements, type PlacementGroup } from "../archive/plan-placements.ts";
import { requireSource } from "../archive/require-source.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import type { Placement } from "../environment.ts";
import type { HeldPlacement } from "./carried/held-placement.ts";
import type { Engine } from "./connection/open-engine.ts";
import { hasStatus } from "./connection/engine-error.ts";
import type { ContainerCommands } from "./container-commands.ts";

const emptyScript = 'shopt -s dotglob nullglob; for path; do rm -rf -- "$path"/*; done';

export interface CopyInOptions {
  readonly engine: Engine;
  readonly id: string;
  readonly commands: ContainerCommands;
  /** What is mounted there cannot be removed, only emptied. */
  readonly mounted: readonly string[];
  /** Remembers where something stands, for containers that are all the same before their first command. */
  readonly known: Map<string, boolean> | null;
  readonly signal: AbortSignal;
}

type StandingOptions = Pick<CopyInOptions, "engine" | "id" | "known" | "signal">;

/** Puts things into a container by way of the engine. */
export async function copyIn(items: readonly (HeldPlacement | Placement)[], options: CopyInOptions): Promise<void> {
  for (const item of items) if (item.kind === "tree") await requireSource(item.source);
  for (const [index, group] of planPlacements(items, new Set(options.mounted)).entries()) {
    // What the first group has placed is only the engine's to tell.
    await placeGroup(group, index === 0 ? options : { ...options, known: null });
  }
}

async function placeGroup(
  { emptied, removed, parents, items }: PlacementGroup<HeldPlacement | Placement>,
  options: CopyInOptions,
): Promise<void> {
  const { engine, id, signal } = options;
  const written = new Set(items.map(({ target }) => target));
  const [standing, filled, missing] = await Promise.all([
    findStanding(
      removed.filter((path) => !written.has(path)),
      options,
    ),
    findStanding(emptied, options),
    findMissingParents(parents, options),
  ]);
  // Nothing of a group lies in anything else of it, so that all can go on at once.
  // An engine begins nothing in a container while it writes an archive into it, so that one has to come second.
  const begun = Promise.withResolvers<void>();
  const removing = standing.length > 0 ? remove(standing, options, begun.resolve) : Promise.resolve();
  await Promise.all([removing, Promise.race([begun.promise, removing]).then(write)]);

  async function write(): Promise<void> {
    if (filled.length > 0) {
      await options.commands.runTool(["bash", "-p", "-c", emptyScript, "bash", ...filled], signal);
    }
    if (items.length === 0) return;
    const answer = await engine.client.open({
      method: "PUT",
      path: `/containers/${id}/archive`,
      query: { path: "/" },
      headers: { "content-type": "application/x-tar" },
      body: encodeTar(planEntries(items, missing, emptied, signal)),
      signal,
    });
    answer.resume();
  }
}

async function* planEntries(
  items: readonly (HeldPlacement | Placement)[],
  missing: readonly string[],
  emptied: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<TreeEntry> {
  const head = { uid: 0, gid: 0, mtimeMs: Date.now() };
  for (const path of missing) yield { ...head, type: "directory", path: path.slice(1), mode: 0o755 };
  for (const item of items) {
    // An archive merges a directory into one that stands there; a file takes its place with all that it holds.
    const isMerged = mayBeDirectory(item) && !emptied.includes(item.target);
    if (isMerged) yield { ...head, type: "file", path: item.target.slice(1), mode: 0o600, size: 0, body: [] };
  }
  for (const item of items) yield* item.kind === "held" ? item.entries : placementEntries([item], signal);
}

function mayBeDirectory(item: HeldPlacement | Placement): boolean {
  if (item.kind === "held") return item.entries[0]?.type === "directory";
  return item.kind === "tree" || item.kind === "directory";
}

async function remove(paths: readonly string[], options: CopyInOptions, onStarted: () => void): Promise<void> {
  const command = ["rm", "-rf", "--", ...paths];
  const { exitCode, output } = await options.commands.runTool(command, options.signal, { onStarted });
  // The tool is the container's own and may lie; the engine does not.
  const left = await findStanding(paths, { ...options, known: null });
  if (left.length === 0) return;
  const why = output.trim() || `rm ended with ${exitCode}`;
  throw new RolloutError("copy_failed", `cannot replace ${left.join(", ")} in the container: ${why}`);
}

async function findStanding(paths: readonly string[], options: StandingOptions): Promise<string[]> {
  const found = await Promise.all(paths.map(async (path) => ((await stands(path, options)) ? [path] : [])));
  return found.flat();
}

// Topmost first, as they must be made.
async function findMissingParents(parents: readonly string[], options: StandingOptions): Promise<string[]> {
  const missing = new Set<string>();
  for (const parent of parents) {
    for (let path = parent; path !== "/" && !missing.has(path); path = posix.dirname(path)) {
      if (await stands(path, options)) break;
      missing.add(path);
    }
  }
  return [...missing].sort((one, other) => one.length - other.length);
}

async function stands(path: string, options: StandingOptions): Promise<boolean> {
  const known = options.known?.get(path);
  if (known !== undefined) return known;
  const found = await askWhetherStands(path, options);
  options.known?.set(path, found);
  return found;
}

async function askWhetherStands(path: string, { engine, id, signal }: StandingOptions): Promise<boolean> {
  try {
    await engine.client.text({ method: "HEAD", path: `/containers/${id}/archive`, query: { path }, signal });
    return true;
  } catch (error) {
    if (hasStatus(error, 404)) return false;
    throw error;
  }
}
