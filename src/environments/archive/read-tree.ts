import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  read,
  readdirSync,
  readlinkSync,
  readSync,
} from "node:fs";
import type { Stats } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import type { TreeEntry, TreeFile } from "./tree-entry.ts";

// Small files and metadata are read synchronously: a hop to the thread pool costs more than the call itself.
const smallFileBytes = 256 * 1024;
const chunkBytes = 256 * 1024;
const entriesPerTurn = 128;

const readAt = promisify(read);

interface Place {
  readonly path: string;
  readonly hostPath: string;
}

/** The tree at a host path, root first, links never followed; rejects with `not_found` when there is nothing. */
export async function* readTree(hostPath: string, signal: AbortSignal): AsyncGenerator<TreeEntry> {
  const stack: Place[] = [{ path: "", hostPath }];
  let count = 0;
  for (let place = stack.pop(); place; place = stack.pop()) {
    signal.throwIfAborted();
    const found = describe(place, stack, signal);
    if (found === null) {
      if (place.path === "") throw new RolloutError("not_found", `there is nothing at ${hostPath}`);
    } else if ("descriptor" in found) {
      try {
        yield found.entry;
      } finally {
        closeSync(found.descriptor);
      }
    } else {
      yield found;
    }
    if (++count % entriesPerTurn === 0) await setImmediate();
  }
}

interface OpenFile {
  readonly entry: TreeFile;
  readonly descriptor: number;
}

function describe(place: Place, pending: Place[], signal: AbortSignal): TreeEntry | OpenFile | null {
  try {
    const stats = lstatSync(place.hostPath);
    if (stats.isFile()) return openFile(place, signal);
    if (stats.isDirectory()) pushChildren(place, pending);
    return entryOf(place, stats);
  } catch (error) {
    return missingOrUnreadable(place, error);
  }
}

function pushChildren(place: Place, pending: Place[]): void {
  const prefix = place.path === "" ? "" : `${place.path}/`;
  // Reversed, because the stack hands out the last one first.
  for (const name of readdirSync(place.hostPath).sort().reverse()) {
    pending.push({ path: prefix + name, hostPath: `${place.hostPath}/${name}` });
  }
}

function entryOf(place: Place, stats: Stats): TreeEntry {
  const head = headOf(place.path, stats);
  if (stats.isDirectory()) return { ...head, type: "directory" };
  if (stats.isSymbolicLink()) return { ...head, type: "symlink", linkTarget: readlinkSync(place.hostPath) };
  return { ...head, type: "other", reason: `it is ${kindOf(stats)}` };
}

function openFile(place: Place, signal: AbortSignal): OpenFile | TreeEntry {
  // What stands there may have been replaced since: by a link, or by a pipe that would hold us forever.
  const descriptor = openSync(place.hostPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  let handedOver = false;
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { ...headOf(place.path, stats), type: "other", reason: `it is ${kindOf(stats)}` };
    const head = { ...headOf(place.path, stats), type: "file" } as const;
    if (stats.size <= smallFileBytes) {
      const content = readWhole(descriptor, stats.size);
      return { ...head, size: content.length, body: [content] };
    }
    handedOver = true;
    return { entry: { ...head, size: stats.size, body: readChunks(descriptor, stats.size, signal) }, descriptor };
  } finally {
    if (!handedOver) closeSync(descriptor);
  }
}

function readWhole(descriptor: number, size: number): Uint8Array {
  const content = Buffer.allocUnsafe(size);
  let filled = 0;
  while (filled < size) {
    const bytes = readSync(descriptor, content, filled, size - filled, filled);
    if (bytes === 0) break;
    filled += bytes;
  }
  return content.subarray(0, filled);
}

// Never more than the size that was announced, although the file may grow meanwhile.
async function* readChunks(descriptor: number, size: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < size;) {
    signal.throwIfAborted();
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
    const { bytesRead } = await readAt(descriptor, chunk, 0, chunk.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}

function headOf(path: string, stats: Stats): Pick<TreeEntry, "path" | "mode" | "uid" | "gid" | "mtimeMs"> {
  return { path, mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid, mtimeMs: stats.mtimeMs };
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return "a named pipe";
  if (stats.isSocket()) return "a socket";
  if (stats.isBlockDevice() || stats.isCharacterDevice()) return "a device";
  return "no longer a file";
}

function missingOrUnreadable(place: Place, error: unknown): TreeEntry | null {
  const code = systemCodeOf(error);
  if (code === undefined) throw error;
  const nameIsBroken = code === "ENOENT" && place.path.includes("\uFFFD");
  if (code === "ENOENT" && !nameIsBroken) return null;
  const reason = nameIsBroken ? "its name is not UTF-8" : `it cannot be read (${code})`;
  return { path: place.path, mode: 0, uid: 0, gid: 0, type: "other", reason };
}
