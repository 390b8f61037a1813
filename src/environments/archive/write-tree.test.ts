import * as fc from "fast-check";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RolloutError } from "../../base/rollout-error.ts";
import { readTree } from "./read-tree.ts";
import type { TreeEntry } from "./tree-entry.ts";
import { writeTree } from "./write-tree.ts";

const { signal } = new AbortController();
let root: string;
let target: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rollout-write-tree-"));
  target = join(root, "target");
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const head = { mode: 0o644, uid: 0, gid: 0 };

function file(path: string, content = "x", mode = 0o644): TreeEntry {
  return { ...head, path, type: "file", mode, size: content.length, body: [Buffer.from(content)] };
}

function directory(path: string, mode = 0o755): TreeEntry {
  return { ...head, path, type: "directory", mode };
}

function link(path: string, linkTarget: string): TreeEntry {
  return { ...head, path, type: "symlink", linkTarget };
}

function hardlink(path: string, linkTarget: string): TreeEntry {
  return { ...head, path, type: "hardlink", linkTarget };
}

async function pathsIn(hostPath: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const entry of readTree(hostPath, signal)) paths.push(entry.path);
  return paths;
}

test("what is safe arrives with its bytes and is counted", async () => {
  const report = await writeTree([directory(""), file("a", "123"), file("deep/er/b", "45"), link("l", "a")], target, {
    signal,
  });
  expect(report).toEqual({ files: 2, bytes: 5, refused: [] });
  expect(await pathsIn(target)).toEqual(["", "a", "deep", "deep/er", "deep/er/b", "l"]);
  expect(readFileSync(join(target, "l"), "utf8")).toBe("123");
});

test("a stream without a root entry, and one that is a single file, are written as well", async () => {
  await writeTree([file("a/b")], target, { signal });
  expect(await pathsIn(target)).toEqual(["", "a", "a/b"]);
  await writeTree([file("", "alone")], join(root, "single"), { signal });
  expect(readFileSync(join(root, "single"), "utf8")).toBe("alone");
});

test("hostile paths are refused by name while their neighbours arrive", async () => {
  const hostile = ["/etc/rollout-evil", "../evil", "a/../../evil", "nul\0name"];
  const report = await writeTree([...hostile.map((path) => file(path)), file("good")], target, { signal });
  expect(report.refused.map((entry) => entry.path)).toEqual(hostile);
  expect(await pathsIn(root)).toEqual(["", "target", "target/good"]);
});

test("nothing is written through a link, whether it is in the stream or was there before", async () => {
  mkdirSync(join(root, "outside"));
  mkdirSync(join(target, "inside"), { recursive: true });
  symlinkSync(join(root, "outside"), join(target, "planted"));
  const report = await writeTree(
    [link("inner", "inside"), file("inner/a"), file("planted/b"), directory("planted/c"), link("planted/d", "x")],
    target,
    { signal },
  );
  expect(report.refused.map((entry) => entry.path)).toEqual(["inner/a", "planted/b", "planted/c", "planted/d"]);
  expect(await pathsIn(join(root, "outside"))).toEqual([""]);
  expect(await pathsIn(join(target, "inside"))).toEqual([""]);
});

test("a file takes the place of a link instead of following it", async () => {
  writeFileSync(join(root, "outside"), "untouched");
  mkdirSync(target);
  symlinkSync(join(root, "outside"), join(target, "name"));
  expect((await writeTree([file("name", "new")], target, { signal })).refused).toEqual([]);
  expect(readFileSync(join(root, "outside"), "utf8")).toBe("untouched");
  expect(readFileSync(join(target, "name"), "utf8")).toBe("new");
});

test("links that lead out are refused, also by way of another link of the same stream", async () => {
  const report = await writeTree(
    [
      directory("sub"),
      link("sub/top", ".."),
      link("out", "sub/top/../secret"),
      link("up", "../x"),
      link("root", "/"),
      link("", "x"),
    ],
    target,
    { signal },
  );
  expect(report.refused.map((entry) => entry.path)).toEqual(["out", "up", "root", ""]);
  expect(readlinkSync(join(target, "sub/top"))).toBe("..");
});

test("links of any kind are kept where the caller says so, and still not written through", async () => {
  const report = await writeTree([link("l", "/nowhere/at/all"), file("l/x")], target, { signal, links: "any" });
  expect(readlinkSync(join(target, "l"))).toBe("/nowhere/at/all");
  expect(report.refused.map((entry) => entry.path)).toEqual(["l/x"]);
});

test("a hard link is made to a file of the tree and to nothing else", async () => {
  writeFileSync(join(root, "secret"), "secret");
  const report = await writeTree(
    [
      file("a", "one"),
      hardlink("b", "a"),
      hardlink("c", "../secret"),
      hardlink("d", "missing"),
      link("l", "a"),
      hardlink("e", "l"),
    ],
    target,
    { signal },
  );
  expect(lstatSync(join(target, "b")).ino).toBe(lstatSync(join(target, "a")).ino);
  expect(report.refused.map((entry) => entry.path)).toEqual(["c", "d", "e"]);
  expect(report.files).toBe(2);
});

test("devices and the like are refused with the reason their source gave", async () => {
  const report = await writeTree([{ ...head, path: "pipe", type: "other", reason: "it is a named pipe" }], target, {
    signal,
  });
  expect(report.refused).toEqual([{ path: "pipe", reason: "it is a named pipe" }]);
});

test("modes are kept without their special bits, and directories stay readable for us", async () => {
  await writeTree([directory("d", 0o2055), file("d/run", "", 0o6755), file("d/secret", "", 0o600)], target, { signal });
  expect(lstatSync(join(target, "d")).mode & 0o7777).toBe(0o755);
  expect(lstatSync(join(target, "d/run")).mode & 0o7777).toBe(0o755);
  expect(lstatSync(join(target, "d/secret")).mode & 0o7777).toBe(0o600);
});

test("a directory is never replaced, and a directory of the stream replaces a file", async () => {
  const report = await writeTree(
    [file("d/keep"), file("d"), link("d", "x"), file("f"), directory("f"), file("f/in")],
    target,
    { signal },
  );
  expect(report.refused.map((entry) => entry.path)).toEqual(["d", "d"]);
  expect(await pathsIn(target)).toEqual(["", "d", "d/keep", "f", "f/in"]);
});

test("what goes beyond the limits is refused, also when a file is larger than it claimed", async () => {
  const liar: TreeEntry = { ...head, path: "liar", type: "file", size: 1, body: [Buffer.alloc(4), Buffer.alloc(100)] };
  const entries = [file("a", "12345"), file("big", "x".repeat(100)), liar, file("b", "6"), file("c")];
  const report = await writeTree(entries, target, { signal, limits: { bytes: 10, entries: 4 } });
  expect(report.refused.map((entry) => entry.path)).toEqual(["big", "liar", "c"]);
  expect(report.bytes).toBe(6);
  expect(await pathsIn(target)).toEqual(["", "a", "b"]);
});

test("a copy with too many entries ends there, and its source is let go", async () => {
  let taken = 0;
  let isReleased = false;
  const endless = (async function* () {
    try {
      for (;;) yield file(`f${taken++}`);
    } finally {
      isReleased = true;
    }
  })();
  const report = await writeTree(endless, target, { signal, limits: { entries: 3, bytes: 10 } });
  expect(report).toMatchObject({ files: 3, isCut: true, refused: [{ path: "f3" }] });
  expect([taken, isReleased]).toEqual([4, true]);
});

test("a stream that would have to be read for nothing is given up, one that need not is not", async () => {
  const huge = (path: string): TreeEntry => ({ ...head, path, type: "file", size: 2 ** 40, body: [] });
  const limits = { entries: 100, bytes: 10 };
  const whole = await writeTree([huge("huge"), file("after")], target, { signal, limits });
  expect(whole).toEqual({ files: 1, bytes: 1, refused: [expect.objectContaining({ path: "huge" })] });
  const entries = [file("before"), file("large", "x".repeat(20)), huge("huge"), file("after")];
  const report = await writeTree(entries, target, { signal, limits, mostWastedBytes: 100 });
  expect(report).toMatchObject({ files: 1, isCut: true, refused: [{ path: "large" }, { path: "huge" }] });
});

test("an endless list of refusals is cut and counted", async () => {
  const report = await writeTree(
    Array.from({ length: 1200 }, () => file("../x")),
    target,
    { signal },
  );
  expect(report.refused).toHaveLength(1001);
  expect(report.refused.at(-1)?.reason).toBe("200 more were refused");
});

test("names that the host does not take are refused", async () => {
  const report = await writeTree([file("n".repeat(300)), file("ok")], target, { signal });
  expect(report.refused[0]?.reason).toMatch(/ENAMETOOLONG/);
  expect(report.files).toBe(1);
});

test("a target that cannot be written to is a copy failure", async () => {
  writeFileSync(target, "a file");
  await expect(writeTree([file("a")], target, { signal })).rejects.toMatchObject({ code: "copy_failed" });
  await expect(writeTree([file("a")], join(root, "no/parent"), { signal })).rejects.toBeInstanceOf(RolloutError);
});

test("a file whose bytes fail to come is not left half written, and the failure is told as it is", async () => {
  const broken = (async function* () {
    yield Buffer.from("first");
    throw new RolloutError("environment_lost", "gone");
  })();
  const entry: TreeEntry = { ...head, path: "half", type: "file", size: 10, body: broken };
  await expect(writeTree([file("ok"), entry], target, { signal })).rejects.toMatchObject({ code: "environment_lost" });
  expect(await pathsIn(target)).toEqual(["", "ok"]);
});

test("an aborted signal ends the copy with its reason", async () => {
  const controller = new AbortController();
  const reason = new Error("stop");
  const entries = (function* () {
    yield file("a");
    controller.abort(reason);
    yield file("b");
  })();
  await expect(writeTree(entries, target, { signal: controller.signal })).rejects.toBe(reason);
  expect(await pathsIn(target)).toEqual(["", "a"]);
});

const name = fc.constantFrom("a", "b", "c", "..", ".", "", "outside", "target");
const somePath = fc.oneof(
  { weight: 8, arbitrary: fc.array(name, { maxLength: 4 }).map((parts) => parts.join("/")) },
  { weight: 1, arbitrary: fc.constantFrom("/tmp", "a\0", "../outside/secret", "../outside/new") },
);
const someEntry: fc.Arbitrary<TreeEntry> = fc.oneof(
  somePath.map((path) => file(path, "evil")),
  somePath.map((path) => directory(path, 0o777)),
  fc.tuple(somePath, somePath).map(([path, to]) => link(path, to)),
  fc.tuple(somePath, somePath).map(([path, to]) => hardlink(path, to)),
);

test("no stream writes, links or leads outside of its target", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(someEntry, { maxLength: 12 }), fc.boolean(), async (entries, existsBefore) => {
      const home = mkdtempSync(join(root, "case-"));
      mkdirSync(join(home, "outside"));
      writeFileSync(join(home, "outside/secret"), "untouched");
      const inside = join(home, "target");
      if (existsBefore) mkdirSync(inside);
      await writeTree(entries, inside, { signal }).catch((error: unknown) => {
        if (!(error instanceof RolloutError)) throw error;
      });
      const before = ["", "outside", "outside/secret"];
      const outside = (await pathsIn(home)).filter((path) => path !== "target" && !path.startsWith("target/"));
      expect(outside).toEqual(before);
      expect(readFileSync(join(home, "outside/secret"), "utf8")).toBe("untouched");
      expect(lstatSync(join(home, "outside/secret")).nlink).toBe(1);
      await expectLinksInside(inside);
      rmSync(home, { recursive: true, force: true });
    }),
    { numRuns: 400 },
  );
});

async function expectLinksInside(inside: string): Promise<void> {
  if (!lstatSync(inside, { throwIfNoEntry: false })) return;
  for await (const entry of readTree(inside, signal)) {
    if (entry.type !== "symlink") continue;
    let real: string;
    try {
      real = realpathSync(join(inside, entry.path));
    } catch {
      // Links in a circle or to nothing lead nowhere.
      continue;
    }
    expect(real === realpathSync(inside) || real.startsWith(`${realpathSync(inside)}/`), real).toBe(true);
  }
}
