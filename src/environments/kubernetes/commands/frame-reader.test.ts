import { expect, test } from "vitest";
import { FrameReader } from "./frame-reader.ts";
import { MarkFinder } from "./mark-finder.ts";

test("frames are the same however their bytes are cut", () => {
  const bytes = Buffer.from("h;o 1 5;ab;cde 7 2;\n\nx 3 0 1 0;", "latin1");
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new FrameReader();
    const text = { o: "", e: "" };
    const kinds: string[] = [];
    for (let start = 0; start < bytes.length; start += size) {
      for (const frame of reader.read(bytes.subarray(start, start + size)) ?? []) {
        if (frame.kind === "bytes") text[frame.stream] += frame.bytes.toString("latin1");
        if (frame.kind !== "bytes" || frame.isLast) kinds.push(frame.kind);
      }
    }
    expect(text).toEqual({ o: "ab;cd", e: "\n\n" });
    expect(kinds).toEqual(["started", "bytes", "bytes", "exit"]);
  }
});

test("what is no frame is told", () => {
  expect(new FrameReader().read(Buffer.from("bash; not found\n"))).toBeNull();
});

test("a mark is found however it is cut, and what only begins like it is handed on", () => {
  const bytes = Buffer.from("one <en two <end>three");
  for (let size = 1; size <= bytes.length; size++) {
    const finder = new MarkFinder("<end>");
    let before = "";
    let after: string | null = null;
    for (let start = 0; start < bytes.length && after === null; start += size) {
      const found = finder.take(bytes.subarray(start, start + size));
      before += found.before.toString();
      after = found.after?.toString() ?? null;
    }
    expect(before).toBe("one <en two ");
    expect("three".startsWith(after ?? "-")).toBe(true);
  }
});
