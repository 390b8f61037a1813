import { constants } from "node:fs";
import { copyFile, open, rename, rm } from "node:fs/promises";
import type { Redactor } from "../redactor.ts";

let sequence = 0;

/** Writes a file piece by piece so that a reader sees either the old one or the whole new one, never a part. */
export async function writeStreamAtomic(
  path: string,
  pieces: AsyncIterable<string | Uint8Array>,
  redactor: Redactor,
): Promise<void> {
  const redact = redactor.stream();
  await replaceFile(path, async (staging) => {
    const file = await open(staging, "w");
    try {
      // Not `write`, which may stop half-way on a disk that is nearly full.
      for await (const piece of pieces)
        await file.appendFile(redact.push(typeof piece === "string" ? Buffer.from(piece) : piece));
      await file.appendFile(redact.end());
    } finally {
      await file.close();
    }
  });
}

/** Copies a file as it is, as whole as `writeStreamAtomic` writes one; its bytes never pass through here, or are shared where a disk can do that. */
export async function copyFileAtomic(from: string, path: string): Promise<void> {
  await replaceFile(path, (staging) => copyFile(from, staging, constants.COPYFILE_FICLONE));
}

async function replaceFile(path: string, write: (staging: string) => Promise<void>): Promise<void> {
  const staging = `${path}.${process.pid}-s${sequence++}.tmp`;
  try {
    await write(staging);
    await rename(staging, path);
  } catch (error) {
    await rm(staging, { force: true }).catch(() => {});
    throw error;
  }
}
