import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from "node:fs";
import type { Stats } from "node:fs";
import { systemCodeOf } from "../../base/rollout-error.ts";

const openDirectoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
// Without O_NONBLOCK, opening a named pipe would wait for a writer.
const openFileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * A directory held by its descriptor. Every step goes from a held directory to one name in it and follows no link, so
 * a process that replaces directories by links meanwhile cannot lead a reader out of the tree.
 */
export class HeldDirectory implements Disposable {
  readonly #descriptor: number;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** Opens a directory of this machine; null if there is none or it may not be read. */
  static open(path: string): HeldDirectory | null {
    const descriptor = attempt(() => openSync(path, openDirectoryFlags));
    return descriptor === null ? null : new HeldDirectory(descriptor);
  }

  /** Takes over an open descriptor of a directory. */
  static adopt(descriptor: number): HeldDirectory {
    return new HeldDirectory(descriptor);
  }

  /** Opens a directory in this one. */
  enter(name: string): HeldDirectory | null {
    return isName(name) ? HeldDirectory.open(this.#at(name)) : null;
  }

  /** Opens a directory below this one, or this one again if there are no names. */
  descend(names: readonly string[]): HeldDirectory | null {
    let held = HeldDirectory.open(this.#at("."));
    for (const name of names) {
      using left = held;
      held = left?.enter(name) ?? null;
    }
    return held;
  }

  /** Sorted. */
  names(): string[] {
    return attempt(() => readdirSync(this.#at(".")).sort()) ?? [];
  }

  /** Null if there is nothing of that name. */
  stat(name: string): Stats | null {
    return isName(name) ? (attempt(() => lstatSync(this.#at(name), { throwIfNoEntry: false })) ?? null) : null;
  }

  readLink(name: string): string | null {
    return isName(name) ? attempt(() => readlinkSync(this.#at(name))) : null;
  }

  /** Reads a regular file of at most `maxBytes`; null if it is something else, larger or unreadable. */
  read(name: string, maxBytes: number): Uint8Array | null {
    const descriptor = isName(name) ? attempt(() => openSync(this.#at(name), openFileFlags)) : null;
    if (descriptor === null) return null;
    try {
      const stats = fstatSync(descriptor);
      return stats.isFile() && stats.size <= maxBytes ? attempt(() => readBytes(descriptor, stats.size)) : null;
    } finally {
      closeSync(descriptor);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }

  #at(name: string): string {
    return `/proc/self/fd/${this.#descriptor}/${name}`;
  }
}

function isName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !name.includes("/");
}

// Missing, unreadable and of another type: a reader can do nothing about any of them.
function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error;
    return null;
  }
}

function readBytes(descriptor: number, size: number): Uint8Array {
  const content = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const bytes = readSync(descriptor, content, filled, size - filled, filled);
    if (bytes === 0) break;
    filled += bytes;
  }
  return content.subarray(0, filled);
}
