import { isUtf8 } from "node:buffer";
import { readSync } from "node:fs";
import { open } from "node:fs/promises";
import { notUtf8 } from "./decode-text.ts";
import { unreadable } from "./read-bytes.ts";

// What fits into the room for new objects: a larger text would be given room of its own, and that is slow.
const blockBytes = 1 << 16;
// What the page cache has costs more on its way through another thread than in being read; others get their turn in between.
const blocksAtOnce = 16;
const newline = 10;
const byteOrderMark = Buffer.from("\uFEFF");

/**
 * The whole lines of a file, as many at once as are there, each with its end; rejects when they are not UTF-8. Each block
 * takes the place of the one before, which must have been gone through.
 */
export async function* readLineBlocks(path: string, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  signal.throwIfAborted();
  await using file = await open(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  let buffer = Buffer.allocUnsafe(blockBytes);
  let held = 0;
  let isFirst = true;
  const read = (from: number): number => {
    try {
      return readSync(file.fd, buffer, from, buffer.length - from - 1, null);
    } catch (error) {
      throw unreadable(path, error);
    }
  };
  for (let blocks = 1; ; blocks++) {
    // Room is left for the end of a last line that has none.
    if (held + 1 >= buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
    if (blocks % blocksAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
    const bytesRead = read(held);
    signal.throwIfAborted();
    if (bytesRead === 0 && held === 0) return;
    if (bytesRead === 0) buffer[held] = newline;
    const end = bytesRead === 0 ? held + 1 : held + bytesRead;
    const last = buffer.lastIndexOf(newline, end - 1) + 1;
    if (last > 0) {
      const lines = buffer.subarray(isFirst && buffer.indexOf(byteOrderMark) === 0 ? byteOrderMark.length : 0, last);
      if (!isUtf8(lines)) throw notUtf8(path);
      yield* smallBlocks(lines);
      isFirst = false;
      buffer.copyWithin(0, last, end);
    }
    held = end - last;
    if (bytesRead === 0) return;
  }
}

/** Blocks that are no larger than they should be, where no line is. */
function* smallBlocks(lines: Buffer): Iterable<Buffer> {
  for (let from = 0; from < lines.length;) {
    const most = from + blockBytes;
    const within = most >= lines.length ? lines.length : lines.lastIndexOf(newline, most - 1) + 1;
    const to = within > from ? within : lines.indexOf(newline, most) + 1;
    yield lines.subarray(from, to);
    from = to;
  }
}
