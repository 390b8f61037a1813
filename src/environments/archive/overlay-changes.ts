import type { Stats } from "node:fs";
import { posix } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { ChangeReport, FileChange, ListChangesRequest } from "../environment.ts";
import { HeldDirectory } from "./held-directory.ts";

/** One lower directory of an overlay. */
export interface OverlayLower {
  readonly path: string;
  /** Originals that not everybody on this machine may read stay unread. */
  readonly isPublicOnly: boolean;
}

/** One overlay mount of an environment, as this machine sees its directories. */
export interface OverlayMount {
  /** Where it is mounted, absolute. */
  readonly target: string;
  readonly upper: string;
  /** Topmost first. */
  readonly lowers: readonly OverlayLower[];
}

export interface OverlayChangesRequest extends ListChangesRequest {
  readonly mounts: readonly OverlayMount[];
  /** Opens the root of the mounted file system; null when the environment has ended. */
  readonly openRoot: () => number | null;
}

const maxEntries = 10_000;
const maxDepth = 64;
const entriesPerTurn = 128;
// Files of the same size are compared up to this size. A larger one counts as changed.
const maxComparedBytes = 256 * 1024;

/**
 * Lists what the upper directories of overlays contain below a directory. Costs nothing for what did not change. Links
 * are not followed, also while processes of the environment run. Resolves with null if the directory lies behind a link.
 */
export async function listOverlayChanges(request: OverlayChangesRequest): Promise<ChangeReport | null> {
  const directory = posix.resolve("/", request.directory);
  const walk = new OverlayWalk({ ...request, directory });
  const home = mountOf(request.mounts, directory);
  if (home === null || !walk.isPlainDirectory(directory)) return null;
  await walk.list(home, directory);
  // Other overlays may be mounted below the directory.
  for (const mount of request.mounts) {
    if (mount !== home && isInside(mount.target, directory)) await walk.list(mount, mount.target);
  }
  return {
    changes: walk.changes,
    isCut: walk.isCut,
    readAfter: async (path, maxBytes) => readUpper(request.mounts, posix.join(directory, path), maxBytes),
    readBefore: async (path, maxBytes) => readLower(request.mounts, posix.join(directory, path), maxBytes),
  };
}

/** One directory in all the places where it exists. */
interface Level {
  readonly path: string;
  readonly depth: number;
  readonly upper: HeldDirectory;
  /** Topmost first. None if the directory is new. */
  readonly lowers: readonly HeldDirectory[];
  /** As the environment sees it. */
  readonly merged: HeldDirectory | null;
}

class OverlayWalk {
  readonly changes: FileChange[] = [];
  isCut = false;
  readonly #request: OverlayChangesRequest;
  readonly #leftOut: ReadonlySet<string>;
  #entries = 0;

  constructor(request: OverlayChangesRequest) {
    this.#request = request;
    this.#leftOut = new Set([...request.exclude, ...request.mounts.map(({ target }) => target)]);
  }

  /** False if a part of the path is a link or missing. */
  isPlainDirectory(path: string): boolean {
    using directory = this.#openMerged(path);
    return directory !== null;
  }

  async list({ target, upper, lowers }: OverlayMount, path: string): Promise<void> {
    const names = namesOf(posix.relative(target, path));
    using stack = new DisposableStack();
    using root = HeldDirectory.open(upper);
    const start = root?.descend(names) ?? null;
    // The upper directory lacks whatever nobody touched.
    if (start === null) return;
    stack.use(start);
    const held: HeldDirectory[] = [];
    for (const lower of lowers) {
      const found = openLower(lower.path, names);
      if (found === "hidden") break;
      if (found !== null) held.push(stack.use(found));
    }
    const merged = stack.use(this.#openMerged(path));
    await this.#walk({ path, depth: 0, upper: start, lowers: held, merged });
  }

  #openMerged(path: string): HeldDirectory | null {
    const descriptor = this.#request.openRoot();
    if (descriptor === null) return null;
    using root = HeldDirectory.adopt(descriptor);
    return root.descend(namesOf(path));
  }

  async #walk(level: Level): Promise<void> {
    const names = level.upper.names();
    for (const name of names) {
      const path = posix.join(level.path, name);
      if (this.#leftOut.has(path)) continue;
      if (this.#entries >= maxEntries) this.isCut = true;
      if (this.isCut) return;
      if (++this.#entries % entriesPerTurn === 0) await setImmediate();
      this.#request.signal.throwIfAborted();
      await this.#examine(level, name, path);
    }
    this.#findHidden(level, new Set(names));
  }

  async #examine(level: Level, name: string, path: string): Promise<void> {
    const now = level.upper.stat(name);
    const { stats: before, holder } = findLower(level.lowers, name);
    // A name that is not UTF-8 cannot be asked for.
    if (now === null) return this.#add(path, { kind: "added", type: "other" });
    if (isWhiteout(now)) {
      if (before !== null) this.#add(path, { kind: "removed", type: typeOf(before) });
      return;
    }
    const isReplaced = before !== null && before.isDirectory() !== now.isDirectory();
    if (isReplaced) this.#add(path, { kind: "removed", type: typeOf(before) });
    if (now.isDirectory()) return this.#enter(level, name, path);
    const details = describe(level.upper, name, now);
    if (before === null || holder === null || isReplaced) return this.#add(path, { kind: "added", ...details });
    const modes = modesOf(before, now);
    if (
      modes === undefined &&
      isSame({ directory: holder, stats: before }, { directory: level.upper, stats: now }, name)
    )
      return;
    this.#add(path, { kind: "changed", ...details, modes });
  }

  async #enter({ depth, upper, lowers, merged }: Level, name: string, path: string): Promise<void> {
    using stack = new DisposableStack();
    const inside = stack.use(upper.enter(name));
    const below: HeldDirectory[] = [];
    for (const lower of lowers) {
      const stats = lower.stat(name);
      if (stats === null) continue;
      const found = stats.isDirectory() ? lower.enter(name) : null;
      if (found === null) break;
      below.push(stack.use(found));
    }
    if (below.length === 0) this.#add(path, { kind: "added", type: "directory" });
    if (inside === null || depth >= maxDepth) this.isCut = true;
    else {
      const seen = stack.use(merged?.enter(name) ?? null);
      await this.#walk({ path, depth: depth + 1, upper: inside, lowers: below, merged: seen });
    }
  }

  // A directory that was removed and made again hides the lower ones by an attribute that Node cannot read. What they
  // hide is missing in the merged view. Deeper lower directories may be hidden by the topmost one, so only that counts.
  #findHidden({ path, lowers, merged }: Level, handled: ReadonlySet<string>): void {
    const [lower] = lowers;
    if (lower === undefined || merged === null || this.isCut) return;
    const seen = new Set(merged.names());
    for (const name of lower.names()) {
      if (seen.has(name) || handled.has(name) || this.#leftOut.has(posix.join(path, name))) continue;
      const stats = lower.stat(name);
      if (stats !== null && !isWhiteout(stats))
        this.#add(posix.join(path, name), { kind: "removed", type: typeOf(stats) });
    }
  }

  #add(path: string, change: Omit<FileChange, "path">): void {
    const { directory } = this.#request;
    this.changes.push({ path: path.slice(directory === "/" ? 1 : directory.length + 1), ...change });
  }
}

interface PlacedFile {
  readonly directory: HeldDirectory;
  readonly stats: Stats;
}

// A file is copied up as soon as its owner or time changes.
function isSame(before: PlacedFile, now: PlacedFile, name: string): boolean {
  if (now.stats.isSymbolicLink() && before.stats.isSymbolicLink())
    return now.directory.readLink(name) === before.directory.readLink(name);
  if (!now.stats.isFile() || !before.stats.isFile() || now.stats.size !== before.stats.size) return false;
  const content = now.directory.read(name, maxComparedBytes);
  const original = content && before.directory.read(name, maxComparedBytes);
  return content !== null && original !== null && Buffer.from(content).equals(original);
}

function describe(
  directory: HeldDirectory,
  name: string,
  stats: Stats,
): Pick<FileChange, "type" | "size" | "linkTarget"> {
  const type = typeOf(stats);
  if (type === "link") return { type, linkTarget: directory.readLink(name) ?? "" };
  return type === "file" ? { type, size: stats.size } : { type };
}

function modesOf(before: Stats, now: Stats): readonly [number, number] | undefined {
  const [earlier, later] = [before.mode & 0o7777, now.mode & 0o7777];
  return earlier === later || now.isSymbolicLink() ? undefined : [earlier, later];
}

function typeOf(stats: Stats): Exclude<FileChange["type"], null> {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "link" : "other";
}

// The mark of the kernel for a name that was removed from a layer below.
function isWhiteout(stats: Stats): boolean {
  return stats.isCharacterDevice() && stats.rdev === 0;
}

function findLower(
  lowers: readonly HeldDirectory[],
  name: string,
): { readonly stats: Stats | null; readonly holder: HeldDirectory | null } {
  for (const holder of lowers) {
    const stats = holder.stat(name);
    if (stats !== null) return isWhiteout(stats) ? { stats: null, holder: null } : { stats, holder };
  }
  return { stats: null, holder: null };
}

// Hidden means that nothing below this layer is visible, because the layer has something else in place of a directory.
function openLower(path: string, names: readonly string[]): HeldDirectory | "hidden" | null {
  let held = HeldDirectory.open(path);
  for (const name of names) {
    using left = held;
    const stats = left?.stat(name) ?? null;
    if (left === null || stats === null) return null;
    held = stats.isDirectory() ? left.enter(name) : null;
    if (held === null) return "hidden";
  }
  return held;
}

function readUpper(mounts: readonly OverlayMount[], path: string, maxBytes: number): Uint8Array | null {
  const mount = mountOf(mounts, path);
  const names = mount && namesOf(posix.relative(mount.target, path));
  const name = names?.pop();
  if (mount === null || names === null || name === undefined) return null;
  using root = HeldDirectory.open(mount.upper);
  using directory = root?.descend(names) ?? null;
  return directory?.read(name, maxBytes) ?? null;
}

function readLower(mounts: readonly OverlayMount[], path: string, maxBytes: number): Uint8Array | null {
  const mount = mountOf(mounts, path);
  const names = mount && namesOf(posix.relative(mount.target, path));
  const name = names?.pop();
  if (mount === null || names === null || name === undefined) return null;
  for (const lower of mount.lowers) {
    const found = openLower(lower.path, names);
    if (found === "hidden") return null;
    if (found === null) continue;
    using directory = found;
    const stats = directory.stat(name);
    if (stats === null) continue;
    const mayShow = !lower.isPublicOnly || (stats.mode & 0o004) !== 0;
    return mayShow ? directory.read(name, maxBytes) : null;
  }
  return null;
}

function mountOf(mounts: readonly OverlayMount[], path: string): OverlayMount | null {
  const holding = mounts.filter(({ target }) => target === path || isInside(path, target));
  return holding.sort((one, other) => other.target.length - one.target.length)[0] ?? null;
}

function isInside(path: string, directory: string): boolean {
  return path !== directory && path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}
