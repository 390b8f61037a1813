import fc from "fast-check";
import { expect, test } from "vitest";
import { BuildProgress } from "./build-progress.ts";
import { protobufText, readProtobuf, writeProtobuf } from "./protobuf.ts";

test("what is written in protocol buffers is read back", () => {
  const fields = fc.array(fc.record({ number: fc.integer({ min: 1, max: 5000 }), value: fc.uint8Array() }));
  fc.assert(
    fc.property(fields, (given) => {
      const message = writeProtobuf(given.map(({ number, value }) => ({ number, value: Buffer.from(value) })));
      expect([...readProtobuf(message)]).toEqual(
        given.map(({ number, value }) => ({ number, value: Buffer.from(value) })),
      );
    }),
  );
});

test("bytes that are no message at all do not harm", () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => void [...readProtobuf(Buffer.from(bytes))]));
  expect(protobufText(Buffer.from([0x0a]), 1)).toBe("");
});

function vertex(digest: string, name: string, error = ""): Buffer {
  const fields = [
    { number: 1, value: digest },
    { number: 3, value: name },
    { number: 5, value: "now" },
    ...(error === "" ? [] : [{ number: 7, value: error }]),
  ];
  return writeProtobuf([{ number: 1, value: writeProtobuf(fields) }]);
}

function log(digest: string, text: string): Buffer {
  const fields = [
    { number: 1, value: digest },
    { number: 4, value: text },
  ];
  return writeProtobuf([{ number: 3, value: writeProtobuf(fields) }]);
}

test("a step is told once, its output with its number, its error once", () => {
  const progress = new BuildProgress();
  expect(progress.read(vertex("a", "[1/2] FROM debian"))).toBe("#1 [1/2] FROM debian\n");
  expect(progress.read(vertex("a", "[1/2] FROM debian"))).toBe("");
  expect(progress.read(vertex("b", "[2/2] RUN make"))).toBe("#2 [2/2] RUN make\n");
  expect(progress.read(log("b", "cc main.c\nerror\n"))).toBe("#2 cc main.c\n#2 error\n");
  expect(progress.read(vertex("b", "[2/2] RUN make", "exit code: 2"))).toBe("#2 ERROR: exit code: 2\n");
  expect(progress.read(vertex("b", "[2/2] RUN make", "exit code: 2"))).toBe("");
});
