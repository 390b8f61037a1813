import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LineTail } from "./line-tail.ts";

interface Reading {
  readonly path: string;
  readonly lines: string[];
  readonly restarts: () => number;
  readonly tail: LineTail;
}

function startReading(offset = 0): Reading {
  const root = mkdtempSync(join(tmpdir(), "rollout-lines-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const path = join(root, "file");
  const lines: string[] = [];
  let restarts = 0;
  const tail = new LineTail(path, {
    offset,
    onLine: (line, start, end) => lines.push(`${start}-${end} ${line.toString()}`),
    onRestart: () => restarts++,
  });
  return { path, lines, tail, restarts: () => restarts };
}

test("continues where the last call stopped and leaves a half-written line for later", async () => {
  const { path, lines, tail } = startReading();
  expect(await tail.read()).toBe(false);
  writeFileSync(path, "one\ntw");
  expect(await tail.read()).toBe(true);
  expect(lines).toEqual(["0-4 one"]);
  appendFileSync(path, "o\nthree\n");
  await tail.read();
  await tail.read();
  expect(lines).toEqual(["0-4 one", "4-8 two", "8-14 three"]);
  expect(tail.offset).toBe(14);
});

test("starts at an offset", async () => {
  const { path, lines, tail, restarts } = startReading(4);
  writeFileSync(path, "one\ntwo\n");
  await tail.read();
  expect(lines).toEqual(["4-8 two"]);
  writeFileSync(path, "new\ntwo\nthree\n");
  await tail.read();
  expect(lines.slice(1)).toEqual(["0-4 new", "4-8 two", "8-14 three"]);
  expect(restarts()).toBe(1);
});

test.each<[string, (path: string) => void]>([
  ["truncated", (path) => writeFileSync(path, "new\n")],
  [
    "replaced by another file",
    (path) => {
      writeFileSync(`${path}.new`, "one\ntwo\nnew\n");
      renameSync(`${path}.new`, path);
    },
  ],
  ["overwritten with other content", (path) => writeFileSync(path, "other\ntwo\nnew\n")],
])("starts over when the file was %s", async (_what, change) => {
  const { path, lines, tail, restarts } = startReading();
  writeFileSync(path, "one\ntwo\n");
  await tail.read();
  const { identity } = tail;
  change(path);
  lines.length = 0;
  await tail.read();
  expect(restarts()).toBe(1);
  expect(lines[0]).toMatch(/^0-/);
  expect(lines.at(-1)).toMatch(/new$/);
  expect(tail.identity).not.toBe(identity);
});

test("reads lines that are longer than a chunk", async () => {
  const { path, lines, tail } = startReading();
  const long = "x".repeat(3_000_000);
  writeFileSync(path, `a\n${long}\nb\n`);
  await tail.read();
  expect(lines.map((line) => line.length)).toEqual([
    "0-2 a".length,
    `2-3000003 ${long}`.length,
    "3000003-3000005 b".length,
  ]);
});

test("skips a line that is too long for the memory", async () => {
  const { path, lines, tail } = startReading();
  writeFileSync(path, "a\n");
  const mebibyte = "x".repeat(1 << 20);
  for (let n = 0; n < 66; n++) appendFileSync(path, mebibyte);
  await tail.read();
  appendFileSync(path, "\nb\n");
  await tail.read();
  expect(lines.map((line) => line.at(-1))).toEqual(["a", "b"]);
});
