import { open, type FileHandle } from "node:fs/promises";
import { KeyTable } from "../../../base/key-table.ts";
import { scanObject, type RawJson } from "../../../base/raw-json.ts";
import { scanLines } from "./scan-lines.ts";

export type Members = ReadonlyMap<string, RawJson>;

/** Finds lines of a file by a key, without holding them. */
export interface LineIndex extends AsyncDisposable {
  /** The members of the last line with a key; null when there is none. */
  find(key: string): Promise<Members | null>;
}

const firstReadBytes = 1 << 14;

/** Looks where the lines of a file are; `keyOf` gives null for those that nobody will look for. */
export async function openLineIndex(path: string, keyOf: (members: Members) => string | null): Promise<LineIndex> {
  const table = new KeyTable({ hasValues: true });
  for await (const lines of scanLines(path))
    for (const { offset, text } of lines) {
      const members = scanObject(text);
      const key = members === null ? null : keyOf(members);
      if (key !== null) table.put(key, offset);
    }
  const file = table.count === 0 ? null : await open(path, "r");
  return {
    async find(key) {
      const offset = file === null ? null : table.get(key);
      if (file === null || offset === null) return null;
      const members = scanObject(await readLine(file, offset));
      // Two keys may share a hash.
      return members !== null && keyOf(members) === key ? members : null;
    },
    [Symbol.asyncDispose]: async () => await file?.close(),
  };
}

async function readLine(file: FileHandle, offset: number): Promise<string> {
  for (let bytes = firstReadBytes; ; bytes *= 4) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytes), 0, bytes, offset);
    const end = buffer.subarray(0, bytesRead).indexOf(10);
    if (end !== -1 || bytesRead < bytes) return buffer.toString("utf8", 0, end === -1 ? bytesRead : end);
  }
}
