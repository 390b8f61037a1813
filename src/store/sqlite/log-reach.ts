import { closeSync, openSync, readSync, statSync } from "node:fs";

// Numbers of the format: https://www.sqlite.org/fileformat2.html#walformat
const headBytes = 32;
const pageSizeAt = 8;
const saltAt = 16;
const saltBytes = 8;
const frameHeadBytes = 24;
const frameSaltAt = 8;

/** The length of a write-ahead log's file, with what is left in it of earlier rounds. */
export function readLogBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Whether what a write-ahead log holds since it began anew goes so far: each round marks its pages with a salt of its own.
 * One that cannot be looked into does not.
 */
export function reachesInLog(path: string, bytes: number): boolean {
  if (readLogBytes(path) < bytes) return false;
  let file: number | null = null;
  try {
    // It has no locks that closing it could take away.
    file = openSync(path, "r");
    const head = read(file, headBytes, 0);
    const frameBytes = frameHeadBytes + head.readUInt32BE(pageSizeAt);
    const lastFrameAt = headBytes + (Math.floor((bytes - headBytes) / frameBytes) - 1) * frameBytes;
    return read(file, saltBytes, lastFrameAt + frameSaltAt).equals(head.subarray(saltAt, saltAt + saltBytes));
  } catch {
    return false;
  } finally {
    if (file !== null) closeSync(file);
  }
}

function read(file: number, length: number, at: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, at);
  return bytes;
}
