import { writeSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { noSecrets, type Redactor } from "../redactor.ts";
import { GatheredBytes } from "./gathered-bytes.ts";

/** A file of lines in which every acknowledged line survives the death of the process; those that come together are written together. */
export interface LineFile extends AsyncDisposable {
  /** Resolves once the line is written. After a failure every call rejects. */
  append(line: Pieces): Promise<void>;
}

/** A text, or what it is made of in order: to join what is long would be to copy it. */
export type Pieces = string | readonly string[];

// A machine that loses its power loses at most what came since.
const syncEveryMs = 50;
// What the page cache takes at once costs more on its way through another thread than in being written.
const mostAtOnce = 256 * 1024;
// What is shorter is joined sooner than copied piece by piece.
const longLine = 4096;

/** Opens a file for appending lines, creating it when it is not there; a last line that was cut short is closed. */
export async function openLineFile(path: string, redactor: Redactor): Promise<LineFile> {
  const file = await open(path, "a+");
  const gathered = new GatheredBytes();
  if (!(await endsWithNewline(file))) gathered.add("\n");
  let group: PromiseWithResolvers<void> | null = null;
  let writing: Promise<void> | null = null;
  let syncing: NodeJS.Timeout | null = null;
  let failure: { readonly error: unknown } | null = null;

  /** Writes what has gathered, for all who wait for it. */
  async function write(): Promise<void> {
    while (group !== null) {
      const [waiting, bytes] = [group, gathered.take()];
      group = null;
      try {
        // After a failed write nobody knows what stands at the end of the file.
        if (failure !== null) throw failure.error;
        if (bytes.length <= mostAtOnce) writeAll(file.fd, bytes);
        else await file.appendFile(bytes);
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
      if (redactor === noSecrets && isLong(line)) for (const piece of [...line, "\n"]) gathered.add(piece);
      else gathered.add(`${redactor.text(joined(line))}\n`);
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

/** A disk that is nearly full may take a part. */
function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
}

function joined(line: Pieces): string {
  if (typeof line === "string") return line;
  let text = "";
  for (const piece of line) text += piece;
  return text;
}

function isLong(line: Pieces): line is readonly string[] {
  if (typeof line === "string") return false;
  let length = 0;
  for (const piece of line) length += piece.length;
  return length >= longLine;
}

async function endsWithNewline(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString() === "\n";
}
