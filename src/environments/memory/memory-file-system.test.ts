import * as fc from "fast-check";
import { posix } from "node:path";
import { expect, test } from "vitest";
import type { TreeEntry } from "../archive/tree-entry.ts";
import { MemoryFileSystem } from "./memory-file-system.ts";

const { signal } = new AbortController();
const head = { mode: 0o644, uid: 7, gid: 8 };

function textOf(files: MemoryFileSystem, path: string): string {
  return Buffer.from(files.read(path)).toString("utf8");
}

test("a written file is read back and its parents exist", () => {
  const files = new MemoryFileSystem();
  files.write("/a/b/c.txt", "hello");
  expect(textOf(files, "/a/./b/../b/c.txt")).toBe("hello");
  expect(files.list("/a")).toEqual(["b"]);
  expect(files.exists("/a/b")).toBe(true);
  expect(files.exists("/a/x/y")).toBe(false);
});

test("writing again keeps the mode unless one is given", () => {
  const files = new MemoryFileSystem();
  files.write("/run", "1", 0o755);
  files.write("/run", "2");
  expect(files.modeOf("/run")).toBe(0o755);
  files.write("/run", "3", 0o600);
  expect(files.modeOf("/run")).toBe(0o600);
});

test("programs follow links, relative, absolute, to directories and to nothing", () => {
  const files = new MemoryFileSystem();
  files.write("/data/file", "x");
  files.placeLink("/data/relative", "file");
  files.placeLink("/way", "/data");
  files.placeLink("/data/new", "made");
  expect(textOf(files, "/way/relative")).toBe("x");
  expect(files.list("/way")).toEqual(["file", "new", "relative"]);
  files.write("/way/new", "through");
  expect(textOf(files, "/data/made")).toBe("through");
});

test("links in a circle are an error and not a loop", () => {
  const files = new MemoryFileSystem();
  files.placeLink("/a", "b");
  files.placeLink("/b", "a");
  expect(() => files.read("/a")).toThrow(/too many links/);
});

test("a climb above the root stays at the root", () => {
  const files = new MemoryFileSystem();
  files.write("/x", "1");
  expect(textOf(files, "/../../x")).toBe("1");
  expect(files.list("/..")).toEqual(["x"]);
});

test("placing replaces a link itself and leaves its target alone", () => {
  const files = new MemoryFileSystem();
  files.write("/target", "old");
  files.placeLink("/name", "target");
  files.placeFile("/name", "new", 0o644);
  expect(textOf(files, "/target")).toBe("old");
  expect(textOf(files, "/name")).toBe("new");
});

test("removing a link keeps what it points to, and removing nothing is fine", () => {
  const files = new MemoryFileSystem();
  files.write("/dir/file", "");
  files.placeLink("/link", "dir");
  files.remove("/link");
  files.remove("/no/such/thing");
  expect(files.exists("/link")).toBe(false);
  expect(files.list("/dir")).toEqual(["file"]);
});

test("what is missing or of another kind is an error with a code", () => {
  const files = new MemoryFileSystem();
  files.write("/file", "");
  expect(() => files.read("/missing")).toThrow(expect.objectContaining({ code: "not_found" }));
  expect(() => files.list("/file")).toThrow(expect.objectContaining({ code: "not_found" }));
  expect(() => files.write("/file/below", "")).toThrow(expect.objectContaining({ code: "io_failed" }));
  expect(() => files.write("/", "")).toThrow(expect.objectContaining({ code: "io_failed" }));
  expect(() => files.makeDirectory("/file", 0o755)).toThrow(expect.objectContaining({ code: "io_failed" }));
  expect(() => files.placeDirectory("/", 0o755)).toThrow(expect.objectContaining({ code: "copy_failed" }));
});

test("a tree goes in and comes out with its owners", async () => {
  const files = new MemoryFileSystem();
  const entries: TreeEntry[] = [
    { ...head, path: "", type: "directory", mode: 0o755 },
    { ...head, path: "a", type: "file", size: 3, body: [Buffer.from("12"), Buffer.from("3")] },
    { ...head, path: "l", type: "symlink", linkTarget: "/anywhere" },
    { ...head, path: "sub", type: "directory" },
    { ...head, path: "sub/same", type: "hardlink", linkTarget: "a" },
  ];
  files.write("/t/old", "gone");
  await files.placeTree("/t", entries, signal);
  const out = [...files.entries("/t")];
  expect(out.map((entry) => [entry.path, entry.type])).toEqual([
    ["", "directory"],
    ["a", "file"],
    ["l", "symlink"],
    ["sub", "directory"],
    ["sub/same", "file"],
  ]);
  expect(out[1]).toMatchObject({ uid: 7, gid: 8 });
});

test("a tree that cannot be read whole leaves what was there", async () => {
  const files = new MemoryFileSystem();
  files.write("/t/old", "kept");
  const entries: TreeEntry[] = [{ ...head, path: "pipe", type: "other", reason: "it is a named pipe" }];
  await expect(files.placeTree("/t", entries, signal)).rejects.toMatchObject({ code: "copy_failed" });
  expect(textOf(files, "/t/old")).toBe("kept");
});

test("without links it agrees with a plain map of normalized paths", () => {
  const path = fc.array(fc.constantFrom("a", "b", ".", "..", ""), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(path, { maxLength: 10 }), (paths) => {
      const files = new MemoryFileSystem();
      const model = new Map<string, string>();
      for (const [index, parts] of paths.entries()) {
        const full = `/${parts.join("/")}/f${index % 3}`;
        files.write(full, String(index));
        model.set(posix.normalize(full), String(index));
      }
      for (const [full, content] of model) expect(textOf(files, full)).toBe(content);
    }),
  );
});
