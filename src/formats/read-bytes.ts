import { createReadStream } from "node:fs";
import { messageOf, RolloutError, systemCodeOf } from "../base/rollout-error.ts";

/** The bytes of a file, piece by piece; rejects with `not_found` when there is no such file. */
export async function* readBytes(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  try {
    yield* createReadStream(path, { signal, highWaterMark: 1 << 18 }) as AsyncIterable<Uint8Array>;
  } catch (error) {
    signal.throwIfAborted();
    throw unreadable(path, error);
  }
}

/** What is to be thrown when a file cannot be read. */
export function unreadable(path: string, error: unknown): unknown {
  const code = systemCodeOf(error);
  if (code === undefined) return error;
  const isMissing = code === "ENOENT" || code === "EISDIR";
  const why = code === "ENOENT" ? "does not exist" : code === "EISDIR" ? "is a directory, not a file" : null;
  const message = `${path} ${why ?? `cannot be read: ${messageOf(error)}`}`;
  return new RolloutError(isMissing ? "not_found" : "io_failed", message, { cause: error });
}
