import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeRoot } from "../testing/temp-files.ts";
import { listArtifacts } from "./trial-artifacts.ts";

function write(root: string, path: string, text: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
}

test("lists regular files by path, with their sizes and media types", async () => {
  const root = makeRoot();
  write(root, "result.json", "{}");
  write(root, "command/stdout.txt", "four");
  write(root, "command/stderr.txt", "");
  expect(await listArtifacts(root)).toEqual([
    { name: "command/stderr.txt", size: 0, mediaType: expect.stringContaining("text/plain") },
    { name: "command/stdout.txt", size: 4, mediaType: expect.stringContaining("text/plain") },
    { name: "result.json", size: 2, mediaType: "application/json" },
  ]);
});

test("follows no links", async () => {
  const root = makeRoot();
  const outside = makeRoot();
  write(outside, "secret.txt", "x");
  symlinkSync(outside, join(root, "directory"));
  symlinkSync(join(outside, "secret.txt"), join(root, "file.txt"));
  symlinkSync(root, join(root, "loop"));
  expect(await listArtifacts(root)).toEqual([]);
});

test("lists at most 200 files, and goes at most six folders deep", async () => {
  const root = makeRoot();
  write(root, "1/2/3/4/5/6/here.txt", "");
  write(root, "1/2/3/4/5/6/7/not-here.txt", "");
  expect((await listArtifacts(root)).map(({ name }) => name)).toEqual(["1/2/3/4/5/6/here.txt"]);
  for (let index = 0; index < 250; index++) write(root, `many/${index}.log`, "");
  expect(await listArtifacts(root)).toHaveLength(200);
});

test("a directory that is missing has no files", async () => {
  expect(await listArtifacts(join(makeRoot(), "missing"))).toEqual([]);
});
