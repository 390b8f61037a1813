import { appendFileSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { Redactor } from "../redactor.ts";

/** A file of lines in which every acknowledged line survives the death of the process; those that come together are written together. */
export interface LineFile extends AsyncDisposable {
  /** Resolves once the line is written. After a failure every call rejects. */
  append(line: string): Promise<void>;
}

// A machine that loses its power loses at most what came since.
const syncEveryMs = 50;
// What the page cache takes at once costs more on its way through another thread than in being written.
const mostAtOnce = 256 * 1024;

/** Opens a file for appending lines, creating it when it is not there; a last line that was cut short is closed. */
export async function openLineFile(path: string, redactor: Redactor): Promise<LineFile> {
  const file = await open(path, "a+");
  let text = (await endsWithNewline(file)) ? "" : "\n";
  let group: PromiseWithResolvers<void> | null = null;
  let writing: Promise<void> | null = null;
  let syncing: NodeJS.Timeout | null = null;
  let failure: { readonly error: unknown } | null = null;

  /** Writes what has gathered, for all who wait for it. */
  async function write(): Promise<void> {
    while (group !== null) {
      const [waiting, words] = [group, text];
      group = null;
      text = "";
      try {
        // After a failed write nobody knows what stands at the end of the file.
        if (failure !== null) throw failure.error;
        if (words.length <= mostAtOnce) appendFileSync(file.fd, words);
        else await file.appendFile(words);
        syncing ??= setTimeout(() => {
          syncing = null;
          file.datasync().catch(() => {});
        }, syncEveryMs);
        waiting.resolve();
      } catch (error) {
        failure ??= { error };
        waiting.reject(error);
      }
    }
    writing = null;
  }

  return {
    append(line) {
      text += `${redactor.text(line)}\n`;
      group ??= Promise.withResolvers<void>();
      // Behind all that the turn of the loop still has to say.
      writing ??= new Promise((resolve) => process.nextTick(() => resolve(write())));
      return group.promise;
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
