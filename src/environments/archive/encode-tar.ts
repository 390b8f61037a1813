import type { TreeEntry, TreeStream } from "./tree-entry.ts";

const blockBytes = 512;
const types = { file: "0", hardlink: "1", symlink: "2", directory: "5" } as const;
const largestOctal = 0o7777777;

/** How long the end of an archive is, behind its last entry. */
export const tarEndBytes = 2 * blockBytes;

/** A tree as a tar archive, with extended headers where the old format is too narrow; what cannot travel is left out. */
export async function* encodeTar(entries: TreeStream): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    if (entry.type === "other") continue;
    yield* headersOf(entry);
    if (entry.type === "file") yield* bodyOf(entry);
  }
  yield new Uint8Array(tarEndBytes);
}

type Travelling = Exclude<TreeEntry, { type: "other" }>;

function* headersOf(entry: Travelling): Generator<Uint8Array> {
  const path = Buffer.from(entry.type === "directory" ? `${entry.path}/` : entry.path);
  const link = Buffer.from("linkTarget" in entry ? entry.linkTarget : "");
  const size = entry.type === "file" ? entry.size : 0;
  const extended = [
    path.length > 100 ? record("path", path) : "",
    link.length > 100 ? record("linkpath", link) : "",
    size > 0o77777777777 ? record("size", Buffer.from(String(size))) : "",
    entry.uid > largestOctal ? record("uid", Buffer.from(String(entry.uid))) : "",
    entry.gid > largestOctal ? record("gid", Buffer.from(String(entry.gid))) : "",
  ].join("");
  if (extended !== "") {
    const body = Buffer.from(extended, "latin1");
    yield header({
      path: Buffer.from("extended"),
      mode: 0o644,
      uid: 0,
      gid: 0,
      size: body.length,
      mtime: 0,
      type: "x",
    });
    yield body;
    yield padding(body.length);
  }
  yield header({
    path,
    link,
    size,
    mode: entry.mode,
    uid: entry.uid,
    gid: entry.gid,
    mtime: Math.max(0, Math.floor((entry.mtimeMs ?? 0) / 1000)),
    type: types[entry.type],
  });
}

// The length of a record counts its own digits.
function record(key: string, value: Buffer): string {
  const rest = ` ${key}=${value.toString("latin1")}\n`;
  let length = rest.length + 1;
  while (length !== String(length).length + rest.length) length = String(length).length + rest.length;
  return `${length}${rest}`;
}

interface HeaderFields {
  readonly path: Buffer;
  readonly link?: Buffer;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtime: number;
  readonly type: string;
}

function header({ path, link, mode, uid, gid, size, mtime, type }: HeaderFields): Uint8Array {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, offset: number, length: number, most: number): void =>
    void block.write(
      `${Math.min(value, most)
        .toString(8)
        .padStart(length - 1, "0")}\0`,
      offset,
      "latin1",
    );
  path.copy(block, 0, 0, 100);
  octal(mode & 0o7777, 100, 8, largestOctal);
  octal(uid, 108, 8, largestOctal);
  octal(gid, 116, 8, largestOctal);
  octal(size, 124, 12, 0o77777777777);
  octal(mtime, 136, 12, 0o77777777777);
  block.write("        ", 148, "latin1");
  block.write(type, 156, "latin1");
  link?.copy(block, 157, 0, 100);
  block.write("ustar\x0000", 257, "latin1");
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

function padding(size: number): Uint8Array {
  return new Uint8Array((blockBytes - (size % blockBytes)) % blockBytes);
}

// A file may have shrunk since its size was announced; the archive must keep its word.
async function* bodyOf(entry: Travelling & { type: "file" }): AsyncGenerator<Uint8Array> {
  let left = entry.size;
  for await (const chunk of entry.body) {
    const part = chunk.length > left ? chunk.subarray(0, left) : chunk;
    left -= part.length;
    if (part.length > 0) yield part;
  }
  while (left > 0) {
    const zeros = new Uint8Array(Math.min(left, 65_536));
    left -= zeros.length;
    yield zeros;
  }
  yield padding(entry.size);
}
