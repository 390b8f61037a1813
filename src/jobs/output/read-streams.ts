import { constants } from "node:fs";
import { lstat, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { systemCodeOf } from "../../base/rollout-error.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { TrialStream } from "./trial-streams.ts";

export interface ReadStreamsOptions {
  /** The trial's directory. It need not exist yet. */
  readonly dir: string;
  readonly streams: readonly TrialStream[];
  readonly signal: AbortSignal;
}

export interface FollowStreamsOptions extends ReadStreamsOptions {
  readonly clock: Clock;
  /** True once nothing more will be written. Asked before each look at the files. */
  readonly isOver: () => boolean;
}

/** Some lines of one stream. They are as hostile as the program that printed them. */
export interface StreamLines {
  readonly stream: TrialStream;
  readonly lines: readonly string[];
  /** The stream was empty or another file before: this is its beginning. */
  readonly isStart: boolean;
}

const chunkBytes = 64 * 1024;
const maxLineBytes = 4096;
const pollMs = 200;

/** Reads the streams of a trial as they are now, one after the other. Missing and empty ones give nothing. */
export async function* readStreams({ dir, streams, signal }: ReadStreamsOptions): AsyncGenerator<StreamLines> {
  for (const stream of streams) {
    await using reader = new StreamReader(dir, stream);
    yield* reader.readAll(signal);
    yield* reader.end();
  }
}

/** Reads the streams of a trial and waits for more, also of streams that appear later, until the trial is over. */
export async function* followStreams(options: FollowStreamsOptions): AsyncGenerator<StreamLines> {
  const { dir, streams, clock, isOver, signal } = options;
  await using stack = new AsyncDisposableStack();
  const readers = streams.map((stream) => stack.use(new StreamReader(dir, stream)));
  for (;;) {
    // Asked first: what is written before the end is then read below.
    const isLast = isOver();
    for (const reader of readers) yield* reader.readAll(signal);
    if (isLast) break;
    await clock.sleep(pollMs, signal);
  }
  for (const reader of readers) yield* reader.end();
}

/** Reads one file in pieces and notices when another file takes its place, as happens when a trial is retried. */
class StreamReader implements AsyncDisposable {
  readonly #path: string;
  readonly #stream: TrialStream;
  #file: FileHandle | null = null;
  #inode = 0;
  #position = 0;
  #isStart = true;
  #splitter = new LineSplitter(maxLineBytes);

  constructor(dir: string, stream: TrialStream) {
    this.#path = join(dir, stream.path);
    this.#stream = stream;
  }

  /** Yields the complete lines up to the present end of the file. */
  async *readAll(signal: AbortSignal): AsyncGenerator<StreamLines> {
    this.#file ??= await this.#open();
    if (this.#file === null) return;
    yield* this.#drain(this.#file, signal);
    const stats = await lstat(this.#path).catch(() => null);
    if (stats?.ino === this.#inode && stats.size >= this.#position) return;
    // The old file is read to its end. A new one begins if there is one.
    yield* this.end();
    await this.#close();
    if (stats !== null) yield* this.readAll(signal);
  }

  /** Yields a last line without an end. */
  *end(): Generator<StreamLines> {
    yield* this.#lines(this.#splitter.end());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  async *#drain(file: FileHandle, signal: AbortSignal): AsyncGenerator<StreamLines> {
    const buffer = Buffer.allocUnsafe(chunkBytes);
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, this.#position);
      if (bytesRead === 0) return;
      this.#position += bytesRead;
      yield* this.#lines(this.#splitter.push(buffer.subarray(0, bytesRead)));
    }
  }

  *#lines(lines: readonly string[]): Generator<StreamLines> {
    if (lines.length === 0) return;
    const isStart = this.#isStart;
    this.#isStart = false;
    yield { stream: this.#stream, lines, isStart };
  }

  async #open(): Promise<FileHandle | null> {
    let file: FileHandle;
    try {
      // Nothing but a file of ours is read, whatever stands there.
      file = await open(this.#path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      if (systemCodeOf(error) === undefined) throw error;
      return null;
    }
    const stats = await file.stat();
    if (stats.isFile()) {
      this.#inode = stats.ino;
      return file;
    }
    await file.close();
    return null;
  }

  async #close(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
    this.#position = 0;
    this.#isStart = true;
    this.#splitter = new LineSplitter(maxLineBytes);
  }
}
