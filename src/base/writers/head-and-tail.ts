import { closeSync, openSync, read, rmSync, write } from "node:fs";
import { promisify } from "node:util";

// Opening and closing are cheap and on the path of every trial; only the bytes go through the thread pool.
const writeAt = promisify(write);
const readAt = promisify(read);

/** A file that takes any number of bytes and keeps the first and the last of them. */
export interface HeadAndTail {
  put(chunk: Uint8Array): Promise<void>;
  /** Brings the last bytes into the file, behind a marker when some were cut. */
  finish(): Promise<void>;
  /** Closes everything and takes the helper file away; to be called on every path. */
  release(): void;
  sizes(): { readonly bytes: number; readonly cutBytes: number };
}

/** Opens a file of which the first and the last half of `limitBytes` are kept. */
export function openHeadAndTail(path: string, limitBytes: number): HeadAndTail {
  return new RingedFile(openSync(path, "w"), `${path}.tail`, limitBytes);
}

/** Fills the head of the file, then turns a second file into a ring that always holds the latest bytes. */
class RingedFile implements HeadAndTail {
  readonly #file: number;
  readonly #tailPath: string;
  readonly #headLimit: number;
  readonly #tailLimit: number;
  #headBytes = 0;
  #tailBytes = 0;
  #tail: number | undefined;

  constructor(file: number, tailPath: string, limitBytes: number) {
    this.#file = file;
    this.#tailPath = tailPath;
    this.#headLimit = Math.ceil(limitBytes / 2);
    this.#tailLimit = limitBytes - this.#headLimit;
  }

  async put(chunk: Uint8Array): Promise<void> {
    const head = chunk.subarray(0, this.#headLimit - this.#headBytes);
    await writeAll(this.#file, head, this.#headBytes);
    this.#headBytes += head.length;
    await this.#putTail(chunk.subarray(head.length));
  }

  async #putTail(chunk: Uint8Array): Promise<void> {
    const skipped = Math.max(0, chunk.length - this.#tailLimit);
    this.#tailBytes += skipped;
    let rest = chunk.subarray(skipped);
    if (rest.length === 0) return;
    this.#tail ??= openSync(this.#tailPath, "w+");
    while (rest.length > 0) {
      const at = this.#tailBytes % this.#tailLimit;
      const part = rest.subarray(0, this.#tailLimit - at);
      await writeAll(this.#tail, part, at);
      this.#tailBytes += part.length;
      rest = rest.subarray(part.length);
    }
  }

  async finish(): Promise<void> {
    const { cutBytes } = this.sizes();
    let at = this.#headBytes;
    if (cutBytes > 0) at = await this.#append(Buffer.from(cutMarker(cutBytes)), at);
    if (this.#tail === undefined) return;
    // Once bytes were cut, the oldest byte of the ring is where the next one would have gone.
    const oldest = cutBytes > 0 ? this.#tailBytes % this.#tailLimit : 0;
    const length = Math.min(this.#tailBytes, this.#tailLimit);
    at = await this.#appendFrom(this.#tail, oldest, length - oldest, at);
    await this.#appendFrom(this.#tail, 0, oldest, at);
  }

  release(): void {
    try {
      if (this.#tail === undefined) return;
      rmSync(this.#tailPath, { force: true });
      closeSync(this.#tail);
    } finally {
      closeSync(this.#file);
    }
  }

  sizes(): { bytes: number; cutBytes: number } {
    return {
      bytes: this.#headBytes + this.#tailBytes,
      cutBytes: Math.max(0, this.#tailBytes - this.#tailLimit),
    };
  }

  async #append(data: Uint8Array, at: number): Promise<number> {
    await writeAll(this.#file, data, at);
    return at + data.length;
  }

  async #appendFrom(tail: number, from: number, length: number, at: number): Promise<number> {
    const buffer = Buffer.allocUnsafe(Math.min(length, 1 << 20));
    let position = at;
    for (let done = 0; done < length;) {
      const { bytesRead } = await readAt(tail, buffer, 0, Math.min(buffer.length, length - done), from + done);
      if (bytesRead === 0) break;
      position = await this.#append(buffer.subarray(0, bytesRead), position);
      done += bytesRead;
    }
    return position;
  }
}

// A single write may stop half-way on a disk that is nearly full; only the next one says so.
async function writeAll(file: number, data: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < data.length;) {
    const { bytesWritten } = await writeAt(file, data, done, data.length - done, at + done);
    done += bytesWritten;
  }
}

function cutMarker(cutBytes: number): string {
  return `\n[rollout: ${cutBytes} bytes were cut here; output_limit keeps the first and the last half]\n`;
}
