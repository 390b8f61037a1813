import { JsonText } from "../../base/json-text.ts";

/** Hears of a line: where it stands in bytes that stay as they are until it returns. */
export type LineListener = (source: JsonText, from: number, to: number) => void;

/** A line that was longer than anybody wants to hold. */
export interface OverlongLine {
  readonly bytes: number;
  /** How it began. */
  readonly head: string;
}

const newline = 10;
const lineEnd = Buffer.from("\n");
const longestHead = 200;

/** Cuts a stream of bytes into lines; one that is too long is told and not held. */
export class LineSplitter {
  readonly #longest: number;
  readonly #onLine: LineListener;
  readonly #onOverlong: (line: OverlongLine) => void;
  /** What came of a line whose end is still to come. */
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(longest: number, onLine: LineListener, onOverlong: (line: OverlongLine) => void) {
    this.#longest = longest;
    this.#onLine = onLine;
    this.#onOverlong = onOverlong;
  }

  push(chunk: Buffer): void {
    let from = 0;
    if (this.#bytes > 0) {
      from = chunk.indexOf(newline) + 1;
      this.#keep(from === 0 ? chunk : chunk.subarray(0, from));
      if (from === 0) return;
      this.#finish();
    }
    const end = chunk.lastIndexOf(newline) + 1;
    if (end > from) this.#hear(from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end));
    if (Math.max(from, end) < chunk.length) this.#keep(chunk.subarray(Math.max(from, end)));
  }

  /** What stands after the last line end is a line too. */
  end(): void {
    if (this.#bytes === 0) return;
    this.#keep(lineEnd);
    this.#finish();
  }

  /** Whole lines. */
  #hear(lines: Buffer): void {
    const source = JsonText.ofLines(lines);
    let from = 0;
    for (let to = lines.indexOf(newline); to !== -1; to = lines.indexOf(newline, from)) {
      if (to - from > this.#longest) this.#tellOverlong(to - from, lines.subarray(from));
      else this.#onLine(source, from, to);
      from = to + 1;
    }
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes <= this.#longest + 1 || this.#parts.length === 0) this.#parts.push(part);
  }

  #finish(): void {
    const parts = this.#parts;
    const bytes = this.#bytes - 1;
    this.#parts = [];
    this.#bytes = 0;
    if (bytes > this.#longest) this.#tellOverlong(bytes, parts[0] ?? lineEnd);
    else this.#hear(Buffer.concat(parts));
  }

  #tellOverlong(bytes: number, begin: Buffer): void {
    this.#onOverlong({ bytes, head: begin.subarray(0, Math.min(longestHead, bytes)).toString("utf8") });
  }
}
