import { KeyTable } from "../../../base/key-table.ts";
import { scanObject } from "../../../base/scan-object.ts";
import { noSecrets } from "../../../base/redactor.ts";
import { writeStreamAtomic } from "../../../base/writers/atomic-stream.ts";
import type { RawMembers } from "../../../base/raw-members.ts";
import { scanLines } from "./scan-lines.ts";

/** Leaves only the last line of each key in a file, and none that was cut short; a file that has only such stays as it is. */
export async function compactLines(path: string, keyOf: (members: RawMembers) => string | null): Promise<void> {
  const last = new KeyTable({ hasValues: true });
  let count = 0;
  for await (const { offset, key } of keyedLines(path, keyOf)) {
    count++;
    if (key !== null) last.put(key, offset);
  }
  if (count > last.count) await writeStreamAtomic(path, keptLines(path, keyOf, last), noSecrets);
}

async function* keptLines(
  path: string,
  keyOf: (members: RawMembers) => string | null,
  last: KeyTable,
): AsyncGenerator<string, void> {
  for await (const { offset, key, text } of keyedLines(path, keyOf))
    if (key !== null && last.get(key) === offset) yield `${text}\n`;
}

async function* keyedLines(path: string, keyOf: (members: RawMembers) => string | null) {
  for await (const lines of scanLines(path))
    for (const { offset, text } of lines) {
      const members = scanObject(text);
      yield { offset, text, key: members === null ? null : keyOf(members) };
    }
}
