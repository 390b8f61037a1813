import type { Clock } from "../../base/clock.ts";
import type { Redactor, StreamRedactor } from "../../base/redactor.ts";
import type { OutputSink } from "../../environments/environment.ts";

const keptBytes = 2048;
const tellEveryMs = 250;

/** Remembers the end of a stream for error messages, and tells its last whole line now and then. */
export class OutputTail {
  readonly #clock: Clock;
  readonly #onLine: (line: string) => void;
  // Redacted as a stream, because what is kept may begin in the middle of a secret.
  readonly #redact: StreamRedactor;
  #text = "";
  #toldAt = -Infinity;

  constructor(clock: Clock, redactor: Redactor, onLine: (line: string) => void) {
    this.#clock = clock;
    this.#redact = redactor.stream();
    this.#onLine = onLine;
  }

  /** A sink that remembers what passes on its way to the given one. */
  watch(sink: OutputSink): OutputSink {
    return {
      write: (chunk) => {
        this.#take(chunk);
        return sink.write(chunk);
      },
    };
  }

  /** The last few non-empty lines; to be asked once the stream has ended. */
  lastLines(count: number): string[] {
    this.#text += Buffer.from(this.#redact.end()).toString("utf8");
    return linesOf(this.#text).slice(-count);
  }

  #take(raw: Uint8Array): void {
    const chunk = this.#redact.push(raw);
    const end = chunk.subarray(Math.max(0, chunk.length - keptBytes));
    this.#text = (this.#text + Buffer.from(end.buffer, end.byteOffset, end.byteLength).toString("utf8")).slice(
      -keptBytes,
    );
    const now = this.#clock.monotonic();
    if (now - this.#toldAt < tellEveryMs) return;
    // A line that is still being written might hold a part of a secret, which nobody could redact.
    const line = linesOf(this.#text.slice(0, this.#text.search(/[^\r\n]*$/))).at(-1);
    if (line === undefined) return;
    this.#toldAt = now;
    this.#onLine(line);
  }
}

function linesOf(text: string): string[] {
  return text
    .split(/[\r\n]+/)
    .map((line) => line.trimEnd())
    .filter((line) => line !== "");
}
