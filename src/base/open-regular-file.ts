import { constants, type Stats } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { systemCodeOf } from "./rollout-error.ts";

/** An open file and its state when it was opened. */
export interface RegularFile extends AsyncDisposable {
  readonly handle: FileHandle;
  readonly stats: Stats;
}

// Links, sockets and files of other users count as missing.
const missingCodes: readonly (string | undefined)[] = [
  "ENOENT",
  "ENOTDIR",
  "ELOOP",
  "ENXIO",
  "EACCES",
  "EPERM",
  "ENAMETOOLONG",
];
// Without O_NONBLOCK, opening a FIFO waits for a writer.
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a file for reading. Returns null if there is no readable regular file at the path; a link is not followed. */
export async function openRegularFile(path: string): Promise<RegularFile | null> {
  const handle = await openOrNull(path);
  if (handle === null) return null;
  try {
    const stats = await handle.stat();
    if (stats.isFile()) return { handle, stats, [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return null;
}

/** Reads a small text file. Returns null if there is none, or if it has more than `maxBytes`. */
export async function readRegularFile(path: string, maxBytes: number): Promise<string | null> {
  await using file = await openRegularFile(path);
  return file === null || file.stats.size > maxBytes ? null : await file.handle.readFile("utf8");
}

async function openOrNull(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, flags);
  } catch (error) {
    if (missingCodes.includes(systemCodeOf(error)) || path.includes("\0")) return null;
    throw error;
  }
}
