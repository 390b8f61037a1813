import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { readLineBlocks } from "./read-line-blocks.ts";

const dir = mkdtempSync(join(tmpdir(), "rollout-blocks-"));
const path = join(dir, "lines");

afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function read(bytes: string | Buffer): Promise<string[]> {
  writeFileSync(path, bytes);
  const blocks: string[] = [];
  for await (const block of readLineBlocks(path, new AbortController().signal)) blocks.push(block.toString());
  return blocks;
}

test("blocks are whole lines and together the file, however long its lines are", async () => {
  const line = fc.tuple(
    fc.constantFrom("x", "é", "\u{1f600}"),
    fc.constantFrom(0, 1, 100, 20_000, 65_534, 70_000, 300_000),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 8 }), fc.boolean(), async (lines, isCut) => {
      const text = lines.map(([sign, times]) => `${sign.repeat(times)}\n`).join("");
      const blocks = await read(isCut ? text.slice(0, -1) : text);
      for (const block of blocks) {
        expect(block.endsWith("\n")).toBe(true);
        if (Buffer.byteLength(block) > 65_536) expect(block.indexOf("\n")).toBe(block.length - 1);
      }
      const isBlank = isCut && text.endsWith("\n\n");
      expect(blocks.join("")).toBe(isCut && (text === "\n" || isBlank) ? text.slice(0, -1) : text);
    }),
    { numRuns: 30 },
  );
});

test("a byte order mark is no part of the first line", async () => {
  expect(await read("\uFEFFone\ntwo")).toEqual(["one\n", "two\n"]);
});

test("what is no UTF-8 and what is not there is told", async () => {
  await expect(read(Buffer.from([0x61, 0x0a, 0xff, 0x0a]))).rejects.toThrow("no UTF-8 text");
  await expect(readLineBlocks(join(dir, "none"), new AbortController().signal).next()).rejects.toThrow(
    "does not exist",
  );
  await expect(readLineBlocks(dir, new AbortController().signal).next()).rejects.toThrow("is a directory");
});
