import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { openRegularFile } from "./open-regular-file.ts";

export interface LineTailOptions {
  /** Where to start reading. Default: 0. */
  readonly offset?: number | undefined;
  /** Called with each complete line, without its line feed. The bytes are only valid during the call. */
  readonly onLine: (line: Buffer, start: number, end: number) => void;
  /** Called before reading starts over, because the file was replaced or truncated. */
  readonly onRestart?: (() => void) | undefined;
}

const chunkBytes = 1 << 20;
const maxLineBytes = 64 << 20;
const headBytes = 256;

/** Reads the complete lines of a file that grows. Each call of `read` continues where the last one stopped. */
export class LineTail {
  readonly #path: string;
  readonly #options: LineTailOptions;
  #offset: number;
  #inode = "";
  /** The beginning of the first line; null until that line is complete. */
  #head: Buffer | null = null;
  /** The rest of the current line is dropped, because the line is too long. */
  #isSkipping = false;

  constructor(path: string, options: LineTailOptions) {
    this.#path = path;
    this.#options = options;
    this.#offset = options.offset ?? 0;
  }

  /** The end of the last complete line. */
  get offset(): number {
    return this.#offset;
  }

  /** Differs between two files; null until the first line is complete. */
  get identity(): string | null {
    return this.#head && `${this.#inode}:${this.#head.toString("base64url")}`;
  }

  /** Reads the lines that were added. Returns false if there is no file. */
  async read(): Promise<boolean> {
    await using file = await openRegularFile(this.#path);
    if (file === null) {
      this.#restart();
      return false;
    }
    const { handle, stats } = file;
    if (!(await this.#isSameFile(handle, stats))) this.#restart();
    this.#inode = inodeOf(stats);
    if (stats.size > this.#offset) await this.#readLines(handle, stats.size);
    return true;
  }

  async #isSameFile(handle: FileHandle, stats: Stats): Promise<boolean> {
    if (stats.size < this.#offset || (this.#inode !== "" && this.#inode !== inodeOf(stats))) return false;
    if (this.#offset === 0) return true;
    // A copy over the file keeps its inode.
    const bytes = Buffer.alloc(Math.min(headBytes, this.#offset));
    await handle.read(bytes, 0, bytes.length, 0);
    const head = headOf(bytes);
    this.#head ??= head;
    return this.#head.equals(head);
  }

  #restart(): void {
    if (this.#offset > 0) this.#options.onRestart?.();
    this.#offset = 0;
    this.#inode = "";
    this.#head = null;
    this.#isSkipping = false;
  }

  async #readLines(handle: FileHandle, size: number): Promise<void> {
    let buffer: Buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - this.#offset));
    // The buffer starts with this many bytes of an incomplete line.
    let filled = 0;
    for (let position = this.#offset; position < size;) {
      if (filled === buffer.length) buffer = grown(buffer, size - position);
      const length = Math.min(buffer.length - filled, size - position);
      const { bytesRead } = await handle.read(buffer, filled, length, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      filled = this.#takeLines(buffer.subarray(0, filled + bytesRead), filled);
    }
  }

  /** Reports complete lines and moves the rest to the beginning of the buffer. Returns the length of the rest. */
  #takeLines(bytes: Buffer, searchFrom: number): number {
    let from = 0;
    for (let feed = bytes.indexOf(10, searchFrom); feed !== -1; feed = bytes.indexOf(10, from)) {
      this.#takeLine(bytes.subarray(from, feed));
      from = feed + 1;
    }
    if (bytes.length - from > maxLineBytes) {
      this.#isSkipping = true;
      this.#offset += bytes.length - from;
      return 0;
    }
    bytes.copyWithin(0, from);
    return bytes.length - from;
  }

  #takeLine(line: Buffer): void {
    const start = this.#offset;
    this.#offset += line.length + 1;
    if (start === 0) this.#head = Buffer.from(line.subarray(0, headBytes));
    if (this.#isSkipping) this.#isSkipping = false;
    else this.#options.onLine(line, start, this.#offset);
  }
}

function inodeOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function headOf(bytes: Buffer): Buffer {
  const feed = bytes.indexOf(10);
  return feed === -1 ? bytes : bytes.subarray(0, feed);
}

function grown(buffer: Buffer, more: number): Buffer {
  const larger = Buffer.allocUnsafe(buffer.length + Math.min(Math.max(buffer.length, chunkBytes), more));
  buffer.copy(larger);
  return larger;
}
