import { open, type FileHandle } from "node:fs/promises";
import type { Redactor } from "../redactor.ts";

/** A file of lines in which every acknowledged line survives the death of the process; those that come together are written together. */
export interface LineFile extends AsyncDisposable {
  /** Resolves once the line is written. After a failure every call rejects. */
  append(line: string): Promise<void>;
}

// A machine that loses its power loses at most what came since.
const syncEveryMs = 50;

/** Opens a file for appending lines, creating it when it is not there; a last line that was cut short is closed. */
export async function openLineFile(path: string, redactor: Redactor): Promise<LineFile> {
  const file = await open(path, "a+");
  let text = (await endsWithNewline(file)) ? "" : "\n";
  let waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  let writing: Promise<void> | null = null;
  let syncing: NodeJS.Timeout | null = null;
  let failure: { readonly error: unknown } | null = null;

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const [group, words] = [waiting, text];
      waiting = [];
      text = "";
      try {
        // After a failed write nobody knows what stands at the end of the file.
        if (failure !== null) throw failure.error;
        await file.appendFile(words);
        syncing ??= setTimeout(() => {
          syncing = null;
          file.datasync().catch(() => {});
        }, syncEveryMs);
        for (const { resolve } of group) resolve();
      } catch (error) {
        failure ??= { error };
        for (const { reject } of group) reject(error);
      }
    }
    writing = null;
  }

  return {
    append(line) {
      text += `${redactor.text(line)}\n`;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting.push({ resolve, reject });
      writing ??= Promise.resolve().then(write);
      return promise;
    },
    async [Symbol.asyncDispose]() {
      await writing;
      if (syncing !== null) clearTimeout(syncing);
      await file.datasync().catch(() => {});
      await file.close().catch(() => {});
    },
  };
}

async function endsWithNewline(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString() === "\n";
}
