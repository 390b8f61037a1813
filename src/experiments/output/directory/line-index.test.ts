import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { compactLines } from "./compact-lines.ts";
import { openLineIndex } from "./line-index.ts";
import { runKey } from "./result-lines.ts";
import { scanLines } from "./scan-lines.ts";

let path: string;
beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), "rollout-lines-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  path = join(directory, "runs.jsonl");
});

function line(id: string, size: number): string {
  return JSON.stringify({ run_id: id, text: "é".repeat(size) });
}

test("lines are found by their keys in any order, however long they and the file are", async () => {
  // Some are longer than what is read at once.
  const sizes = Array.from({ length: 400 }, (_, n) => (n % 150 === 7 ? 700_000 : (n * 37) % 2000));
  await writeFile(path, sizes.map((size, n) => `${line(`r${n}`, size)}\n`).join(""));
  await using index = await openLineIndex(path, runKey);
  for (const n of [399, 0, 7, 8, 157, 6, 307, 200, 7]) {
    const members = await index.find(`r${n}`);
    expect(members?.get("run_id")).toBe(`"r${n}"`);
    expect(members?.get("text")).toHaveLength((sizes[n] ?? 0) + 2);
  }
  expect(await index.find("r400")).toBeNull();
});

test("the last of several lines counts, one that was cut short does not, and the last needs no line break", async () => {
  await writeFile(path, `${line("a", 1)}\n${line("b", 2)}\n{"run_id":"b","te\n${line("a", 3)}`);
  await using index = await openLineIndex(path, runKey);
  expect((await index.find("a"))?.get("text")).toBe('"ééé"');
  expect((await index.find("b"))?.get("text")).toBe('"éé"');
});

test("no file is one without lines", async () => {
  await using index = await openLineIndex(path, runKey);
  expect(await index.find("a")).toBeNull();
  await compactLines(path, runKey);
  expect(await Array.fromAsync(scanLines(path))).toEqual([]);
});

test("compacting leaves the last line of each key, in the order of the file", async () => {
  await writeFile(path, `${line("a", 1)}\n${line("b", 2)}\n{"run_id":\n${line("a", 3)}\n`);
  await compactLines(path, runKey);
  const lines = (await Array.fromAsync(scanLines(path))).flat().map(({ text }) => text);
  expect(lines).toEqual([line("b", 2), line("a", 3)]);
});
