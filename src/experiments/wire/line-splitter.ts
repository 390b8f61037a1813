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
const noRoom = Buffer.alloc(0);
const longestHead = 200;
const leastRoom = 1 << 16;
const mostRoom = 1 << 20;

/** Cuts a stream of bytes into lines; one that is too long is told and not held. */
export class LineSplitter {
  readonly #longest: number;
  readonly #onLine: LineListener;
  readonly #onOverlong: (line: OverlongLine) => void;
  /** How long the line is whose end is still to come. */
  #bytes = 0;
  /** What is held of it, in room that is used again: what is new each time costs more than the copying. */
  #room: Buffer = noRoom;
  #held = 0;

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

  /** How many bytes of a line have come whose end is still to come. */
  get begunBytes(): number {
    return this.#bytes;
  }

  /** Offers the line whose end is still to come. The listener returns how many bytes it took; they are gone from the line. */
  offerBegun(take: (source: JsonText, from: number, to: number) => number): void {
    if (this.#bytes === 0 || this.#held !== this.#bytes) return;
    const taken = take(JsonText.ofLines(Buffer.concat([this.#room.subarray(0, this.#held), lineEnd])), 0, this.#held);
    this.#room.copyWithin(0, taken, this.#held);
    this.#held -= taken;
    this.#bytes = this.#held;
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
    // Of a line that is too long its begin is enough.
    if (this.#bytes > this.#longest + 1 && this.#held > 0) return;
    if (this.#bytes > this.#room.length) this.#grow(this.#bytes);
    this.#held += part.copy(this.#room, this.#held);
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(leastRoom, 2 * needed));
    this.#room.copy(larger, 0, 0, this.#held);
    this.#room = larger;
  }

  #finish(): void {
    const line = this.#room.subarray(0, this.#held);
    const bytes = this.#bytes - 1;
    this.#bytes = 0;
    this.#held = 0;
    if (this.#room.length > mostRoom) this.#room = noRoom;
    if (bytes > this.#longest) this.#tellOverlong(bytes, line);
    else this.#hear(line);
  }

  #tellOverlong(bytes: number, begin: Buffer): void {
    this.#onOverlong({ bytes, head: begin.subarray(0, Math.min(longestHead, bytes)).toString("utf8") });
  }
}
