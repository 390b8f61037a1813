import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readTree } from "./read-tree.ts";
import type { TreeEntry } from "./tree-entry.ts";

const { signal } = new AbortController();
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rollout-read-tree-"));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

async function readAll(path: string): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  for await (const entry of readTree(path, signal)) entries.push(entry);
  return entries;
}

async function bytesOf(entry: TreeEntry | undefined): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  if (entry?.type === "file") for await (const chunk of entry.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test("a tree is read root first, in order, parents before what they hold", async () => {
  mkdirSync(join(root, "b/c"), { recursive: true });
  for (const path of ["z", "b/2", "b/1", "b/c/x", "a"]) writeFileSync(join(root, path), path);
  const entries = await readAll(root);
  expect(entries.map((entry) => entry.path)).toEqual(["", "a", "b", "b/1", "b/2", "b/c", "b/c/x", "z"]);
  expect((await bytesOf(entries[6])).toString()).toBe("b/c/x");
});

test("links are told and not followed, at the root too", async () => {
  mkdirSync(join(root, "real"));
  writeFileSync(join(root, "real/file"), "");
  symlinkSync("real", join(root, "link"));
  expect((await readAll(root)).map((entry) => `${entry.type} ${entry.path}`)).toEqual([
    "directory ",
    "symlink link",
    "directory real",
    "file real/file",
  ]);
  expect(await readAll(join(root, "link"))).toMatchObject([{ type: "symlink", path: "", linkTarget: "real" }]);
});

test("a single file is a tree of one", async () => {
  writeFileSync(join(root, "file"), "12345", { mode: 0o600 });
  expect(await readAll(join(root, "file"))).toMatchObject([{ type: "file", path: "", size: 5, mode: 0o600 }]);
});

test("a large file comes in pieces, and one that is left unread is skipped", async () => {
  writeFileSync(join(root, "a-large"), "");
  truncateSync(join(root, "a-large"), 5_000_000);
  writeFileSync(join(root, "b-small"), "small");
  const sizes: number[] = [];
  for await (const entry of readTree(root, signal)) {
    if (entry.path === "a-large" && entry.type === "file")
      for await (const chunk of entry.body) sizes.push(chunk.length);
  }
  expect(sizes.length).toBeGreaterThan(1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(5_000_000);
  expect((await readAll(root)).map((entry) => entry.path)).toEqual(["", "a-large", "b-small"]);
});

test("pipes are told as something else and do not hold the reader", async () => {
  execFileSync("mkfifo", [join(root, "pipe")]);
  expect((await readAll(root))[1]).toMatchObject({ type: "other", path: "pipe", reason: "it is a named pipe" });
});

test("a name that is not UTF-8 is told instead of lost", async () => {
  writeFileSync(Buffer.concat([Buffer.from(`${root}/bad-`), Buffer.from([0xff])]), "");
  expect((await readAll(root))[1]).toMatchObject({ type: "other", reason: "its name is not UTF-8" });
});

test("modes are read with their special bits", async () => {
  writeFileSync(join(root, "tool"), "");
  chmodSync(join(root, "tool"), 0o4755);
  expect((await readAll(root))[1]?.mode).toBe(0o4755);
});

test("a path where nothing is rejects with not_found", async () => {
  await expect(readAll(join(root, "missing"))).rejects.toMatchObject({ code: "not_found" });
});

test("an aborted signal ends the reading with its reason", async () => {
  const reason = new Error("stop");
  await expect(readTree(root, AbortSignal.abort(reason)).next()).rejects.toBe(reason);
});
