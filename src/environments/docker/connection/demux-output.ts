import { freeBytes } from "../../../base/free-bytes.ts";
import type { OutputSink } from "../../environment.ts";

const headBytes = 8;

/** Hands the two streams of a command to their sinks, each chunk when the one before has been taken; true when the last frame came whole. The source gives its bytes away. */
export async function demuxOutput(
  source: AsyncIterable<Uint8Array>,
  stdout: OutputSink,
  stderr: OutputSink,
): Promise<boolean> {
  const head = Buffer.alloc(headBytes);
  let headFilled = 0;
  let left = 0;
  let sink = stdout;
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length;) {
      if (left === 0) {
        const taken = Math.min(headBytes - headFilled, chunk.length - at);
        head.set(chunk.subarray(at, at + taken), headFilled);
        headFilled += taken;
        at += taken;
        if (headFilled < headBytes) break;
        headFilled = 0;
        sink = head[0] === 2 ? stderr : stdout;
        left = head.readUInt32BE(4);
        continue;
      }
      const part = chunk.subarray(at, at + left);
      at += part.length;
      left -= part.length;
      await sink.write(part);
    }
    freeBytes(chunk);
  }
  return left === 0 && headFilled === 0;
}
