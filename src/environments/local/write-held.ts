import type { Writable } from "node:stream";

/** Writes a chunk and waits until the stream takes more; one that has been closed takes everything and keeps nothing. */
export function writeHeld(stream: Writable, chunk: Uint8Array): Promise<void> {
  if (stream.destroyed || stream.write(chunk)) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = (): void => {
      stream.off("drain", settle);
      stream.off("close", settle);
      resolve();
    };
    stream.once("drain", settle);
    stream.once("close", settle);
  });
}
