import { freeBytes } from "../free-bytes.ts";
import type { Redactor } from "../redactor.ts";
import { openHeadAndTail } from "./head-and-tail.ts";

/** Output of a command on its way to a file: readable while it grows, bounded in size and memory. */
export interface CappedStream {
  /** Takes bytes and never throws; a returned promise asks the producer to wait until the disk has caught up. */
  write(chunk: Uint8Array): void | Promise<void>;
  /** Writes what is left and tells what was cut. Rejects when the disk refused something. */
  close(): Promise<{ readonly bytes: number; readonly cutBytes: number }>;
}

const comfortableBacklogBytes = 1 << 20;

/** Opens a file that keeps the first and the last half of `limitBytes`, with a marker that tells what was cut between. */
export async function openCappedStream(path: string, limitBytes: number, redactor: Redactor): Promise<CappedStream> {
  const layout = openHeadAndTail(path, limitBytes);
  const redact = redactor.stream();
  let backlog: Uint8Array[] = [];
  let backlogBytes = 0;
  let draining: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  let isClosed = false;

  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      // A full disk must not stop the command; it is told when the stream is closed.
      failure ??= { error };
    }
  };
  const drain = async (): Promise<void> => {
    while (backlog.length > 0) {
      const chunks = backlog;
      backlog = [];
      for (const chunk of chunks) {
        const { length } = chunk;
        if (!failure) await attempt(() => layout.put(chunk));
        backlogBytes -= length;
        freeBytes(chunk);
      }
      if (failure) backlog = [];
    }
    draining = undefined;
  };
  const enqueue = (chunk: Uint8Array): void | Promise<void> => {
    if (chunk.length === 0 || failure) return;
    backlog.push(chunk);
    backlogBytes += chunk.length;
    draining ??= drain();
    if (backlogBytes > comfortableBacklogBytes) return draining;
  };

  return {
    write(chunk) {
      // Copied because the producer may use its buffer again before the disk has taken it.
      if (!isClosed) return enqueue(new Uint8Array(redact.push(chunk)));
    },
    async close() {
      isClosed = true;
      await enqueue(redact.end());
      await draining;
      if (!failure) await attempt(() => layout.finish());
      await attempt(async () => layout.release());
      if (failure) throw failure.error;
      return layout.sizes();
    },
  };
}
