import { open, type FileHandle } from "node:fs/promises";
import { KeyTable } from "../../../base/key-table.ts";
import type { RawMembers } from "../../../base/raw-members.ts";
import { scanObject } from "../../../base/scan-object.ts";
import { scanLines } from "./scan-lines.ts";

/** Finds lines of a file by a key, without holding them. */
export interface LineIndex extends AsyncDisposable {
  /** The members of the last line with a key; null when there is none. */
  find(key: string): Promise<RawMembers | null>;
}

// Lines stand nearly in the order in which they are looked for: most are near the one before.
const windowBytes = 1 << 18;
const bytesBefore = 1 << 16;

/** Looks where the lines of a file are; `keyOf` gives null for those that nobody will look for. */
export async function openLineIndex(path: string, keyOf: (members: RawMembers) => string | null): Promise<LineIndex> {
  const table = new KeyTable({ hasValues: true });
  for await (const lines of scanLines(path))
    for (const { offset, text } of lines) {
      const members = scanObject(text);
      const key = members === null ? null : keyOf(members);
      if (key !== null) table.put(key, offset);
    }
  const file = table.count === 0 ? null : await open(path, "r");
  const readLine = file && lineReader(file);
  return {
    async find(key) {
      const offset = table.get(key);
      if (readLine === null || offset === null) return null;
      const members = scanObject(await readLine(offset));
      // Two keys may share a hash.
      return members !== null && keyOf(members) === key ? members : null;
    },
    [Symbol.asyncDispose]: async () => await file?.close(),
  };
}

/** Returns a function that reads the line at an offset. It keeps a part of the file around the last one in memory. */
export function lineReader(file: FileHandle): (offset: number) => Promise<string> {
  let start = 0;
  let held: Buffer = Buffer.alloc(0);
  const find = (offset: number): string | null => {
    if (offset < start || offset >= start + held.length) return null;
    const end = held.indexOf(10, offset - start);
    return end === -1 ? null : held.toString("utf8", offset - start, end);
  };
  return async (offset) => {
    const line = find(offset);
    if (line !== null) return line;
    start = Math.max(0, offset - bytesBefore);
    for (let bytes = windowBytes; ; bytes *= 4) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytes), 0, bytes, start);
      held = buffer.subarray(0, bytesRead);
      const found = find(offset);
      if (found !== null) return found;
      if (bytesRead < bytes) return held.toString("utf8", offset - start);
    }
  };
}
