import { posix } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { TreeEntry, TreeStream } from "../archive/tree-entry.ts";

interface Attributes {
  mode: number;
  uid: number;
  gid: number;
}

type MemoryNode =
  | (Attributes & { readonly kind: "file"; content: Uint8Array })
  | (Attributes & { readonly kind: "directory"; readonly children: Map<string, MemoryNode> })
  | (Attributes & { readonly kind: "link"; readonly to: string });

type MemoryDirectory = MemoryNode & { readonly kind: "directory" };

/** Where a path leads: the directory that holds it, and what stands there. */
interface Slot {
  readonly parent: MemoryDirectory | null;
  readonly name: string;
  readonly node: MemoryNode | undefined;
}

const mostLinks = 40;

/** Files, directories and links with their modes and owners, all in memory; paths are absolute. */
export class MemoryFileSystem {
  readonly #root: MemoryDirectory;

  /** Empty, or with the files of another as they are now. */
  constructor(other?: MemoryFileSystem) {
    this.#root = other ? copyDirectory(other.#root) : newDirectory(0o755);
  }

  /** The bytes of a file, links followed; throws `not_found`. */
  read(path: string): Uint8Array {
    const node = this.#locate(path, true)?.node;
    if (node?.kind !== "file") throw new RolloutError("not_found", `there is no file ${path}`);
    return node.content;
  }

  /** Writes a file as a program would: links are followed, missing parents are made, the mode of an old file stays. */
  write(path: string, content: string | Uint8Array, mode?: number): void {
    const slot = this.#reach(path, true);
    if (slot.node?.kind === "directory") throw new RolloutError("io_failed", `${path} is a directory`);
    const kept = slot.node?.mode ?? 0o644;
    slot.parent?.children.set(slot.name, newFile(bytesOf(content), mode ?? kept));
  }

  exists(path: string): boolean {
    return this.#locate(path, true)?.node !== undefined;
  }

  /** The sorted names in a directory; throws `not_found`. */
  list(path: string): string[] {
    const node = this.#locate(path, true)?.node;
    if (node?.kind !== "directory") throw new RolloutError("not_found", `there is no directory ${path}`);
    return [...node.children.keys()].sort();
  }

  /** The permission bits of what stands at a path, links not followed; undefined when nothing does. */
  modeOf(path: string): number | undefined {
    return this.#locate(path, false)?.node?.mode;
  }

  /** Makes a directory and its parents; one that exists is left alone. */
  makeDirectory(path: string, mode: number): void {
    const slot = this.#reach(path, true);
    if (slot.node === undefined) slot.parent?.children.set(slot.name, newDirectory(mode));
    else if (slot.node.kind !== "directory") throw new RolloutError("io_failed", `${path} is not a directory`);
  }

  /** Removes whatever stands at a path, a link rather than its target; nothing there is fine. */
  remove(path: string): void {
    const slot = this.#locate(path, false);
    slot?.parent?.children.delete(slot.name);
  }

  /** Puts a file in the place of whatever stands there. */
  placeFile(path: string, content: string | Uint8Array, mode: number): void {
    this.#put(path, newFile(bytesOf(content), mode));
  }

  /** Puts an empty directory in the place of whatever stands there. */
  placeDirectory(path: string, mode: number): void {
    this.#put(path, newDirectory(mode));
  }

  /** Puts a link in the place of whatever stands there. */
  placeLink(path: string, to: string): void {
    this.#put(path, { kind: "link", to, mode: 0o777, uid: 0, gid: 0 });
  }

  /** Puts a tree in the place of whatever stands there, once it has arrived whole; rejects with `copy_failed`. */
  async placeTree(path: string, entries: TreeStream, signal: AbortSignal): Promise<void> {
    const arrived = new MemoryFileSystem();
    for await (const entry of entries) {
      signal.throwIfAborted();
      await arrived.#add(entry);
    }
    const node = arrived.#locate("/tree", false)?.node;
    if (node) this.#put(path, node);
  }

  /** The tree at a path, root first; throws `not_found`. */
  *entries(path: string): Generator<TreeEntry> {
    const node = this.#locate(path, false)?.node;
    if (!node) throw new RolloutError("not_found", `there is nothing at ${path}`);
    yield* entriesOf("", node);
  }

  async #add(entry: TreeEntry): Promise<void> {
    const path = posix.join("/tree", entry.path);
    const { mode, uid, gid } = entry;
    switch (entry.type) {
      case "file":
        return this.#put(path, { kind: "file", content: await readBody(entry.body), mode, uid, gid });
      case "directory":
        return this.#put(path, { ...newDirectory(mode), uid, gid });
      case "symlink":
        return this.#put(path, { kind: "link", to: entry.linkTarget, mode, uid, gid });
      case "hardlink":
        return this.placeFile(path, this.read(posix.join("/tree", entry.linkTarget)), mode);
      case "other":
        throw new RolloutError("copy_failed", `cannot copy ${entry.path || "the source"}: ${entry.reason}`);
    }
  }

  #put(path: string, node: MemoryNode): void {
    const slot = this.#reach(path, false);
    if (slot.parent === null) throw new RolloutError("copy_failed", `cannot replace ${path}`);
    slot.parent.children.set(slot.name, node);
  }

  #reach(path: string, followLast: boolean): Slot {
    const slot = this.#locate(path, followLast, true);
    if (!slot) throw new RolloutError("io_failed", `${path} goes through something that is no directory`);
    return slot;
  }

  #locate(path: string, followLast: boolean, makeParents = false): Slot | undefined {
    const pending = componentsOf(path);
    let trail: MemoryDirectory[] = [this.#root];
    let links = 0;
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      const parent = trail.at(-1) ?? this.#root;
      const isLast = pending.length === 0;
      let node = name === ".." ? undefined : parent.children.get(name);
      if (name === "..") {
        if (trail.length > 1) trail.pop();
      } else if (node?.kind === "link" && (followLast || !isLast)) {
        if (++links > mostLinks) throw new RolloutError("io_failed", `${path} goes through too many links`);
        if (node.to.startsWith("/")) trail = [this.#root];
        pending.unshift(...componentsOf(node.to));
      } else if (isLast) {
        return { parent, name, node };
      } else {
        if (!node && makeParents) parent.children.set(name, (node = newDirectory(0o755)));
        if (node?.kind !== "directory") return undefined;
        trail.push(node);
      }
    }
    return { parent: null, name: "", node: trail.at(-1) };
  }
}

function componentsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function newDirectory(mode: number): MemoryDirectory {
  return { kind: "directory", children: new Map(), mode, uid: 0, gid: 0 };
}

// A file's bytes are never changed, only replaced.
function copyDirectory(directory: MemoryDirectory): MemoryDirectory {
  const copy = (node: MemoryNode): MemoryNode => (node.kind === "directory" ? copyDirectory(node) : { ...node });
  return { ...directory, children: new Map([...directory.children].map(([name, node]) => [name, copy(node)])) };
}

function newFile(content: Uint8Array, mode: number): MemoryNode {
  return { kind: "file", content, mode, uid: 0, gid: 0 };
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return Buffer.from(content);
}

async function readBody(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

function* entriesOf(path: string, node: MemoryNode): Generator<TreeEntry> {
  const head = { path, mode: node.mode, uid: node.uid, gid: node.gid };
  if (node.kind === "file") yield { ...head, type: "file", size: node.content.length, body: [node.content] };
  else if (node.kind === "link") yield { ...head, type: "symlink", linkTarget: node.to };
  else {
    yield { ...head, type: "directory" };
    for (const [name, child] of node.children) yield* entriesOf(path === "" ? name : `${path}/${name}`, child);
  }
}
