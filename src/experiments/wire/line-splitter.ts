/** A line that was longer than anybody wants to hold. */
export interface OverlongLine {
  readonly bytes: number;
  /** How it began. */
  readonly head: string;
}

const newline = 10;
const longestHead = 200;

/** Cuts a stream of bytes into lines; one that is too long is told and not held. */
export class LineSplitter {
  readonly #longest: number;
  readonly #onLine: (line: string) => void;
  readonly #onOverlong: (line: OverlongLine) => void;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(longest: number, onLine: (line: string) => void, onOverlong: (line: OverlongLine) => void) {
    this.#longest = longest;
    this.#onLine = onLine;
    this.#onOverlong = onOverlong;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      // Most lines are whole in one chunk, and need neither a view nor a list.
      if (this.#bytes === 0 && end - from <= this.#longest) this.#onLine(chunk.toString("utf8", from, end));
      else {
        this.#keep(chunk.subarray(from, end));
        this.#finish();
      }
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  /** What stands after the last line end is a line too. */
  end(): void {
    if (this.#bytes > 0) this.#finish();
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes <= this.#longest || this.#parts.length === 0) this.#parts.push(part);
  }

  #finish(): void {
    const parts = this.#parts;
    const bytes = this.#bytes;
    this.#parts = [];
    this.#bytes = 0;
    if (bytes > this.#longest)
      return this.#onOverlong({ bytes, head: parts[0]?.subarray(0, longestHead).toString("utf8") ?? "" });
    const [only] = parts;
    this.#onLine((parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)).toString("utf8"));
  }
}
