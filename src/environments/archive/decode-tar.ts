import { RolloutError } from "../../base/rollout-error.ts";
import type { TreeEntry } from "./tree-entry.ts";

const blockBytes = 512;
// What describes one entry is small; a hostile archive must not fill our memory with it.
const mostMetadata = 1 << 20;

/** The entries of a tar archive, none of them to be trusted; rejects with `copy_failed` when it is cut off or no archive. */
export async function* decodeTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TreeEntry> {
  const reader = new BlockReader(source);
  let extended = new Map<string, string>();
  try {
    for (;;) {
      const block = await reader.take(blockBytes);
      if (block.every((byte) => byte === 0)) return;
      const type = String.fromCharCode(block[156] ?? 0);
      const size = readSize(extended, block);
      if ("xgLK".includes(type)) {
        if (size > mostMetadata) throw broken("it describes an entry in too many bytes");
        const body = await reader.take(size);
        await reader.skip(paddingOf(size));
        if (type === "x") extended = new Map([...extended, ...readRecords(body)]);
        else if (type !== "g") extended.set(type === "L" ? "path" : "linkpath", textOf(body));
        continue;
      }
      const body = new EntryBody(reader, size);
      yield entryOf(block, type, size, extended, body);
      await body.skipRest();
      await reader.skip(paddingOf(size));
      extended = new Map();
    }
  } finally {
    await reader.close();
  }
}

function readSize(extended: ReadonlyMap<string, string>, block: Buffer): number {
  const size = extended.has("size") ? Number(extended.get("size")) : numberAt(block, 124, 12);
  if (!Number.isSafeInteger(size) || size < 0) throw broken("an entry has no valid size");
  return size;
}

function entryOf(
  block: Buffer,
  type: string,
  size: number,
  extended: ReadonlyMap<string, string>,
  body: EntryBody,
): TreeEntry {
  const prefix = block.toString("latin1", 257, 263) === "ustar\0" ? textOf(block.subarray(345, 500)) : "";
  const name = textOf(block.subarray(0, 100));
  const path = (extended.get("path") ?? (prefix === "" ? name : `${prefix}/${name}`)).replace(/\/+$/, "");
  const linkTarget = extended.get("linkpath") ?? textOf(block.subarray(157, 257));
  const head = {
    path,
    mode: numberAt(block, 100, 8) & 0o7777,
    uid: Number(extended.get("uid") ?? numberAt(block, 108, 8)),
    gid: Number(extended.get("gid") ?? numberAt(block, 116, 8)),
    mtimeMs: Number(extended.get("mtime") ?? numberAt(block, 136, 12)) * 1000,
  };
  if (path.includes("\uFFFD")) return { ...head, type: "other", reason: "its name is not UTF-8" };
  if (type === "0" || type === "\0" || type === "7") return { ...head, type: "file", size, body };
  if (type === "5") return { ...head, type: "directory" };
  if (type === "2") return { ...head, type: "symlink", linkTarget };
  if (type === "1") return { ...head, type: "hardlink", linkTarget };
  const reason = type === "6" ? "it is a named pipe" : "it is a device or something else that is no file";
  return { ...head, type: "other", reason };
}

function numberAt(block: Buffer, offset: number, length: number): number {
  const field = block.subarray(offset, offset + length);
  // The first bit marks a number in binary, for what does not fit in octal digits.
  if (((field[0] ?? 0) & 0x80) === 0) return Number.parseInt(field.toString("latin1").replace(/[\0 ]+/g, "") || "0", 8);
  let value = (field[0] ?? 0) & 0x7f;
  for (const byte of field.subarray(1)) value = value * 256 + byte;
  return value;
}

function textOf(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end === -1 ? field.length : end);
}

function* readRecords(body: Buffer): Generator<[string, string]> {
  for (let start = 0; start < body.length;) {
    const space = body.indexOf(0x20, start);
    const length = Number.parseInt(body.toString("latin1", start, space), 10);
    if (space === -1 || !(length > space - start) || start + length > body.length) throw broken("a header is broken");
    const text = body.toString("utf8", space + 1, start + length - 1);
    const equals = text.indexOf("=");
    if (equals > 0) yield [text.slice(0, equals), text.slice(equals + 1)];
    start += length;
  }
}

function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

function broken(why: string): RolloutError {
  return new RolloutError("copy_failed", `the archive is broken: ${why}`);
}

class EntryBody implements AsyncIterable<Uint8Array> {
  readonly #reader: BlockReader;
  #left: number;

  constructor(reader: BlockReader, size: number) {
    this.#reader = reader;
    this.#left = size;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (this.#left > 0) {
      const chunk = await this.#reader.some(this.#left);
      this.#left -= chunk.length;
      yield chunk;
    }
  }

  async skipRest(): Promise<void> {
    const left = this.#left;
    this.#left = 0;
    await this.#reader.skip(left);
  }
}

class BlockReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async take(size: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = size; left > 0;) {
      const part = await this.some(left);
      parts.push(part);
      left -= part.length;
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  }

  /** At least one byte and at most so many. */
  async some(most: number): Promise<Buffer> {
    while (this.#held.length === 0) {
      const next = await this.#source.next();
      if (next.done) throw broken("it ends too early");
      this.#held = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    }
    const part = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(part.length);
    return part;
  }

  async skip(size: number): Promise<void> {
    for (let left = size; left > 0;) left -= (await this.some(left)).length;
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }
}
