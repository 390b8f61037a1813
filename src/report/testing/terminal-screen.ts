import { displayWidth } from "../../base/terminal-text.ts";

/** A terminal as far as our displays use one: it scrolls, wraps, reflows on resize and obeys a few sequences. */
export class TerminalScreen {
  columns: number;
  rows: number;
  cursorVisible = true;
  wraps = true;
  /** Everything ever shown, scrolled-off lines included. */
  lines: string[] = [""];
  writes = 0;
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    this.writes++;
    for (const [token] of text.matchAll(/\x1b\[[?\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+|\x1b/g)) this.#take(token);
  }

  /** What a person sees: the last rows, without the empty ones at the end. */
  visible(): string[] {
    return trimmed(this.lines.slice(this.#top()));
  }

  /** All lines, without the empty ones at the end. */
  everything(): string[] {
    return trimmed(this.lines);
  }

  /** Breaks lines that are too long for the new width, as modern terminals do. */
  resize(columns: number, rows: number): void {
    const below = this.lines.length - this.#row;
    this.lines = this.lines.flatMap((line) => breakLine(line, columns));
    this.#row = this.lines.length - below;
    this.columns = columns;
    this.rows = rows;
  }

  #top(): number {
    return Math.max(0, this.lines.length - this.rows);
  }

  #take(token: string): void {
    if (token === "\r") this.#column = 0;
    else if (token === "\n") this.#lineFeed();
    else if (token.startsWith("\x1b")) this.#obey(token);
    else this.#print(token);
  }

  #lineFeed(): void {
    this.#column = 0;
    this.#row++;
    if (this.#row === this.lines.length) this.lines.push("");
  }

  #obey(sequence: string): void {
    const number = Number(sequence.slice(2, -1)) || 1;
    if (/^\x1b\[\d*A$/.test(sequence)) this.#row = Math.max(this.#top(), this.#row - number);
    else if (sequence === "\x1b[J") {
      this.lines = [...this.lines.slice(0, this.#row), (this.lines[this.#row] ?? "").slice(0, this.#column)];
    } else if (/^\x1b\[\?25[lh]$/.test(sequence)) this.cursorVisible = sequence.endsWith("h");
    else if (/^\x1b\[\?7[lh]$/.test(sequence)) this.wraps = sequence.endsWith("h");
    else if (!/^\x1b\[[\d;]*m$/.test(sequence)) throw new Error(`the terminal got ${JSON.stringify(sequence)}`);
  }

  #print(text: string): void {
    if (this.#column !== displayWidth(this.lines[this.#row] ?? "")) throw new Error(`overwrites with ${text}`);
    const [first = "", ...more] = breakLine((this.lines[this.#row] ?? "") + text, this.columns);
    if (more.length > 0 && !this.wraps) throw new Error(`too wide for ${this.columns}: ${text}`);
    this.lines[this.#row] = first;
    for (const line of more) {
      this.#lineFeed();
      this.lines[this.#row] = line;
    }
    this.#column = displayWidth(this.lines[this.#row] ?? "");
  }
}

function breakLine(line: string, columns: number): string[] {
  const parts = [""];
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    const last = parts.length - 1;
    if (displayWidth(parts[last] + segment) > columns) parts.push(segment);
    else parts[last] += segment;
  }
  return parts;
}

function trimmed(lines: readonly string[]): string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}
