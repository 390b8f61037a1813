import { open, rename, rm } from "node:fs/promises";
import type { Redactor } from "../redactor.ts";

let sequence = 0;

/** Writes a file piece by piece so that a reader sees either the old one or the whole new one, never a part. */
export async function writeStreamAtomic(
  path: string,
  pieces: AsyncIterable<string | Uint8Array>,
  redactor: Redactor,
): Promise<void> {
  const staging = `${path}.${process.pid}-s${sequence++}.tmp`;
  const redact = redactor.stream();
  try {
    const file = await open(staging, "w");
    try {
      // Not `write`, which may stop half-way on a disk that is nearly full.
      for await (const piece of pieces)
        await file.appendFile(redact.push(typeof piece === "string" ? Buffer.from(piece) : piece));
      await file.appendFile(redact.end());
    } finally {
      await file.close();
    }
    await rename(staging, path);
  } catch (error) {
    await rm(staging, { force: true }).catch(() => {});
    throw error;
  }
}
