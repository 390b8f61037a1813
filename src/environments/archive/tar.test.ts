import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { decodeTar } from "./decode-tar.ts";
import { encodeTar } from "./encode-tar.ts";
import type { TreeEntry } from "./tree-entry.ts";

const dir = mkdtempSync(join(tmpdir(), "rollout-tar-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function collect(entries: readonly TreeEntry[], pieceBytes = 700) {
  const archive = Buffer.concat(await Array.fromAsync(encodeTar(entries)));
  return { archive, decoded: await Array.fromAsync(decodeTar(inPieces(archive, pieceBytes)), summarize) };
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function summarize(entry: TreeEntry) {
  if (entry.type !== "file") return { ...entry };
  return { ...entry, body: Buffer.concat(await Array.fromAsync(entry.body)).toString("latin1") };
}

function file(path: string, content: string): TreeEntry {
  const body = Buffer.from(content, "latin1");
  return { path, type: "file", mode: 0o4755, uid: 7, gid: 3_000_000, mtimeMs: 5000, size: body.length, body: [body] };
}

test("entries come back as they went in, however long their names and however they are cut", async () => {
  const long = `${"directory/".repeat(30)}größe-世界\nline`;
  const head = { mode: 0o755, uid: 0, gid: 0, mtimeMs: 0 };
  const entries: TreeEntry[] = [
    { ...head, path: "tree", type: "directory" },
    file("tree/empty", ""),
    file(long, "x".repeat(1025)),
    { ...head, path: "tree/link", type: "symlink", linkTarget: `../${long}` },
    { ...head, path: "tree/second", type: "hardlink", linkTarget: long },
  ];
  for (const pieceBytes of [1, 511, 512, 100_000]) {
    const { decoded } = await collect(entries, pieceBytes);
    expect(decoded).toEqual(await Promise.all(entries.map(summarize)));
  }
});

test("any names and contents survive", async () => {
  const name = fc
    .string({ minLength: 1, maxLength: 300, unit: "grapheme" })
    .filter((text) => !/[\0/]|\uFFFD/.test(text));
  await fc.assert(
    fc.asyncProperty(name, fc.string({ unit: "binary-ascii" }), async (path, content) => {
      const { decoded } = await collect([file(path, content)]);
      expect(decoded).toMatchObject([{ path, body: content }]);
    }),
    { numRuns: 100 },
  );
});

test("a body that is left unread is skipped, and one that shrank is filled up", async () => {
  const short = { ...file("short", "abc"), size: 700 } as TreeEntry;
  const { archive } = await collect([short, file("next", "n")]);
  const paths: string[] = [];
  for await (const entry of decodeTar(inPieces(archive, 300))) paths.push(entry.path);
  expect(paths).toEqual(["short", "next"]);
});

test("an archive that is cut off is an error", async () => {
  const { archive } = await collect([file("file", "x".repeat(2000))]);
  await expect(Array.fromAsync(decodeTar(inPieces(archive.subarray(0, 1500), 512)))).rejects.toMatchObject({
    code: "copy_failed",
  });
});

test("what tar writes is read, and what we write is read by tar", async () => {
  const deep = join(dir, ...Array.from({ length: 12 }, (_, index) => `a-rather-long-name-${index}`));
  execFileSync("bash", ["-c", 'mkdir -p "$1"; echo deep > "$1/file"; mkfifo "$1/pipe"', "bash", deep]);
  const made = execFileSync("tar", ["-C", dir, "--format=gnu", "-c", "."]);
  const decoded = await Array.fromAsync(decodeTar(inPieces(made, 333)), summarize);
  expect(decoded.find((entry) => entry.path.endsWith("/file"))).toMatchObject({ type: "file", body: "deep\n" });
  expect(decoded.find((entry) => entry.path.endsWith("/pipe"))).toMatchObject({ type: "other" });

  const { archive } = await collect([file(`${"x".repeat(150)}/ünï`, "ours")]);
  execFileSync("tar", ["-C", dir, "-x", "--no-same-owner"], { input: archive });
  expect(readFileSync(join(dir, "x".repeat(150), "ünï"), "utf8")).toBe("ours");
});
