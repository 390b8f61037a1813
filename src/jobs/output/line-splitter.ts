const newline = 0x0a;

/** Cuts bytes into lines and bounds what it keeps of each. */
export class LineSplitter {
  readonly #maxBytes: number;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #cutBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes bytes and returns the lines that they complete. Copies what it keeps. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** Returns the line that has no end, if there is one. */
  end(): string[] {
    return this.#keptBytes + this.#cutBytes > 0 ? [this.#take()] : [];
  }

  #keep(part: Buffer): void {
    const kept = part.subarray(0, this.#maxBytes - this.#keptBytes);
    if (kept.length > 0) this.#kept.push(Buffer.from(kept));
    this.#keptBytes += kept.length;
    this.#cutBytes += part.length - kept.length;
  }

  #take(): string {
    const text = Buffer.concat(this.#kept).toString("utf8");
    const line = this.#cutBytes > 0 ? `${text}… (${this.#cutBytes} more bytes)` : text;
    this.#kept = [];
    this.#keptBytes = 0;
    this.#cutBytes = 0;
    return line;
  }
}
