import fc from "fast-check";
import { expect, test } from "vitest";
import { demuxOutput } from "./demux-output.ts";

function frame(stream: number, text: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(text.length, 4);
  return Buffer.concat([head, text]);
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function collector(): { write(chunk: Uint8Array): void; bytes(): Buffer } {
  const chunks: Buffer[] = [];
  return { write: (chunk) => void chunks.push(Buffer.from(chunk)), bytes: () => Buffer.concat(chunks) };
}

test("both streams arrive whole however the bytes are cut", async () => {
  const frames = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 40 })), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(frames, fc.integer({ min: 1, max: 50 }), async (given, size) => {
      const [stdout, stderr] = [collector(), collector()];
      const bytes = Buffer.concat(given.map(([stream, text]) => frame(stream, text)));
      expect(await demuxOutput(inPieces(bytes, size), stdout, stderr)).toBe(true);
      const of = (wanted: number): Buffer =>
        Buffer.concat(given.flatMap(([stream, text]) => (stream === wanted ? [text] : [])));
      expect(stdout.bytes()).toEqual(of(1));
      expect(stderr.bytes()).toEqual(of(2));
    }),
  );
});

test("output that is cut off is told from output that ended", async () => {
  const bytes = frame(1, Buffer.from("hello")).subarray(0, 10);
  const stdout = collector();
  expect(await demuxOutput(inPieces(bytes, 4), stdout, collector())).toBe(false);
  expect(stdout.bytes().toString()).toBe("he");
});

test("the next chunk waits until the one before has been taken", async () => {
  const order: string[] = [];
  const slow = {
    async write(chunk: Uint8Array) {
      order.push(`begin ${Buffer.from(chunk).toString()}`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push("end");
    },
  };
  const bytes = Buffer.concat([frame(1, Buffer.from("a")), frame(2, Buffer.from("b"))]);
  await demuxOutput(inPieces(bytes, 100), slow, slow);
  expect(order).toEqual(["begin a", "end", "begin b", "end"]);
});
