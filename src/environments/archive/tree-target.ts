import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  futimesSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  write,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import type { TreeFile } from "./tree-entry.ts";

// Below this a write goes straight to the page cache; above it the disk may hold us back, and that is for the thread pool.
const smallFileBytes = 256 * 1024;
const createNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
// Beyond this some file systems and Node refuse a time, and a stream may claim any.
const latestSeconds = 2 ** 32;
const occupied = "a directory stands in its place";

const writeAt = promisify(write);

/** The host directory that a tree is written to; every method gives the reason when it refuses, else null. */
export class TreeTarget {
  readonly #root: string;
  readonly #mostBytes: number;
  readonly #signal: AbortSignal;
  // Real directories, each looked at or made by us; none is ever replaced, so that membership stays true.
  readonly #directories = new Set<string>();
  #rootIsNew = false;
  files = 0;
  bytes = 0;

  constructor(root: string, mostBytes: number, signal: AbortSignal) {
    this.#root = root;
    this.#mostBytes = mostBytes;
    this.#signal = signal;
  }

  directory(parts: readonly string[], mode: number): string | null {
    const refusal = this.#enter(parts, true);
    if (refusal !== null) return refusal;
    // A root that was there before belongs to the caller, mode included.
    if (parts.length > 0 || this.#rootIsNew) chmodSync(this.#hostPath(parts), (mode & 0o777) | 0o700);
    return null;
  }

  async file(parts: readonly string[], entry: TreeFile): Promise<string | null> {
    const tooMuch = `the copy would be larger than ${this.#mostBytes} bytes`;
    if (!this.hasRoomFor(entry.size)) return tooMuch;
    const path = this.#hostPath(parts);
    const refusal = this.#makeRoom(parts);
    if (refusal !== null) return refusal;
    const descriptor = create(path);
    if (descriptor === null) return occupied;
    let complete = false;
    try {
      const bytes = await this.#fill(descriptor, entry);
      if (bytes === null) return tooMuch;
      fchmodSync(descriptor, entry.mode & 0o777);
      const seconds = (entry.mtimeMs ?? -1) / 1000;
      if (seconds >= 0 && seconds <= latestSeconds) futimesSync(descriptor, seconds, seconds);
      this.files++;
      this.bytes += bytes;
      complete = true;
      return null;
    } finally {
      closeSync(descriptor);
      if (!complete) rmSync(path, { force: true });
    }
  }

  /** Whether a file of so many bytes stays within what is taken. */
  hasRoomFor(bytes: number): boolean {
    return this.bytes + bytes <= this.#mostBytes;
  }

  symlink(parts: readonly string[], linkTarget: string): string | null {
    const path = this.#hostPath(parts);
    return this.#makeRoom(parts) ?? makeOrReplace(path, () => symlinkSync(linkTarget, path));
  }

  hardlink(parts: readonly string[], otherParts: readonly string[]): string | null {
    const other = this.#hostPath(otherParts);
    const stays = otherParts.length > 0 && this.#directories.has(otherParts.slice(0, -1).join("/"));
    if (!stays || !lstatSync(other, { throwIfNoEntry: false })?.isFile()) return "it links to no file of the tree";
    const path = this.#hostPath(parts);
    if (path === other) return null;
    const refusal = this.#makeRoom(parts) ?? makeOrReplace(path, () => linkSync(other, path));
    if (refusal === null) this.files++;
    return refusal;
  }

  #hostPath(parts: readonly string[]): string {
    return parts.length === 0 ? this.#root : `${this.#root}/${parts.join("/")}`;
  }

  #makeRoom(parts: readonly string[]): string | null {
    return parts.length === 0 ? null : this.#enter(parts.slice(0, -1), false);
  }

  // Makes sure that every component is a directory of its own; only one that the stream names itself replaces a file or link.
  #enter(parts: readonly string[], named: boolean): string | null {
    const key = parts.join("/");
    if (this.#directories.has(key)) return null;
    if (parts.length === 0) this.#enterRoot();
    else {
      const refusal = this.#enter(parts.slice(0, -1), false) ?? makeDirectory(this.#hostPath(parts), named);
      if (refusal !== null) return refusal;
    }
    this.#directories.add(key);
    return null;
  }

  #enterRoot(): void {
    try {
      mkdirSync(this.#root);
      this.#rootIsNew = true;
    } catch (error) {
      if (systemCodeOf(error) !== "EEXIST") throw error;
      if (!statSync(this.#root, { throwIfNoEntry: false })?.isDirectory()) {
        throw new RolloutError("copy_failed", `${this.#root} exists and is not a directory`, { cause: error });
      }
    }
  }

  async #fill(descriptor: number, entry: TreeFile): Promise<number | null> {
    let bytes = 0;
    for await (const chunk of entry.body) {
      this.#signal.throwIfAborted();
      if (this.bytes + bytes + chunk.length > this.#mostBytes) return null;
      for (let done = 0; done < chunk.length;) {
        done +=
          entry.size <= smallFileBytes
            ? writeSync(descriptor, chunk, done)
            : (await writeAt(descriptor, chunk, done, chunk.length - done)).bytesWritten;
      }
      bytes += chunk.length;
    }
    return bytes;
  }
}

function create(path: string): number | null {
  let descriptor: number | null = null;
  makeOrReplace(path, () => {
    descriptor = openSync(path, createNew, 0o600);
  });
  return descriptor;
}

function makeDirectory(path: string, replace: boolean): string | null {
  try {
    mkdirSync(path);
    return null;
  } catch (error) {
    if (systemCodeOf(error) !== "EEXIST") throw error;
    const stats = lstatSync(path);
    if (stats.isDirectory()) return null;
    if (!replace) return stats.isSymbolicLink() ? "its path goes through a link" : "its path goes through a file";
    unlinkSync(path);
    mkdirSync(path);
    return null;
  }
}

function makeOrReplace(path: string, make: () => void): string | null {
  try {
    make();
  } catch (error) {
    if (systemCodeOf(error) !== "EEXIST") throw error;
    if (lstatSync(path).isDirectory()) return occupied;
    unlinkSync(path);
    make();
  }
  return null;
}
