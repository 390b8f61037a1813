import { open, readFile, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { redactJson, type Redactor } from "../redactor.ts";

/** A file of JSON lines in which every acknowledged line survives a crash of the machine. */
export interface Journal extends AsyncDisposable {
  /** Resolves once the line is on disk; lines that wait together are synced together. After a failure every call rejects. */
  append(value: unknown): Promise<void>;
}

interface Waiting {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Opens a journal for appending, creating it when it is not there. */
export async function openJournal(path: string, redactor: Redactor): Promise<Journal> {
  const file = await open(path, "a+");
  // A line that a crash cut short must not swallow the next one.
  let separator = (await endsWithWholeLine(file)) ? "" : "\n";
  let queue: Waiting[] = [];
  let drained: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  await syncDirectory(dirname(path));

  const drain = async (): Promise<void> => {
    // What is appended in one go is synced in one go.
    await Promise.resolve();
    while (queue.length > 0) {
      const batch = queue;
      queue = [];
      try {
        // After a failed write nobody knows what stands at the end of the file.
        if (failure) throw failure.error;
        await commit(file, separator, batch);
        separator = "";
        for (const waiting of batch) waiting.resolve();
      } catch (error) {
        failure ??= { error };
        for (const waiting of batch) waiting.reject(error);
      }
    }
    drained = undefined;
  };

  return {
    append(value) {
      const line = `${redactJson(value, redactor)}\n`;
      return new Promise<void>((resolve, reject) => {
        queue.push({ line, resolve, reject });
        drained ??= drain();
      });
    },
    async [Symbol.asyncDispose]() {
      await drained;
      await file.close().catch(() => {});
    },
  };
}

async function commit(file: FileHandle, separator: string, batch: readonly Waiting[]): Promise<void> {
  // Not `write`, which may stop half-way on a disk that is nearly full.
  await file.appendFile(separator + batch.map((waiting) => waiting.line).join(""));
  await file.datasync();
}

async function endsWithWholeLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString() === "\n";
}

// A new file is only there after a crash when its directory was synced too.
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } catch {
    // Not every file system can; the lines themselves are synced all the same.
  } finally {
    await directory.close();
  }
}

/** Every whole line of a journal; a line that a crash cut short is left out. */
export async function readJournal(path: string): Promise<unknown[]> {
  const values: unknown[] = [];
  for (const line of (await readFile(path, "utf8")).split("\n")) {
    if (line.trim() === "") continue;
    try {
      values.push(JSON.parse(line));
    } catch {
      // Only a torn write looks like this; what it would have said was never acknowledged.
    }
  }
  return values;
}
