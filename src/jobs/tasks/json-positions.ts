import { createKeyPositions, type KeyPositions } from "./toml-positions.ts";

type Path = readonly (string | number)[];

/** Where the keys and items of a JSON text stand, and where it stops being JSON. */
export interface JsonScan {
  readonly positions: KeyPositions;
  /** Null exactly when the text is valid JSON, nested no deeper than we follow. */
  readonly errorOffset: number | null;
}

const deepestValue = 500;
const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const stringPattern = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const wordPattern = /true|false|null/y;
const blankPattern = /[ \t\r\n]*/y;

/** Scans a JSON text for the places of its keys; never throws, whatever the text is. */
export function scanJson(text: string): JsonScan {
  const offsets = new Map<string, number>();
  const scanner = new JsonScanner(text, offsets);
  const errorOffset = scanner.scan();
  return { positions: createKeyPositions(text, offsets), errorOffset };
}

class JsonScanner {
  readonly #text: string;
  readonly #offsets: Map<string, number>;
  #at = 0;

  constructor(text: string, offsets: Map<string, number>) {
    this.#text = text;
    this.#offsets = offsets;
  }

  scan(): number | null {
    const isWhole = this.#value([], 0) && (this.#take(blankPattern), this.#at === this.#text.length);
    return isWhole ? null : this.#at;
  }

  /** False when what stands here is no value; the position then is where it went wrong. */
  #value(path: Path, depth: number): boolean {
    this.#take(blankPattern);
    if (path.length > 0 && typeof path.at(-1) === "number") this.#record(path, this.#at);
    const first = this.#text[this.#at];
    if (depth < deepestValue && first === "{") return this.#group("}", () => this.#member(path, depth));
    if (depth < deepestValue && first === "[")
      return this.#group("]", (index) => this.#value([...path, index], depth + 1));
    return this.#take(stringPattern) || this.#take(numberPattern) || this.#take(wordPattern);
  }

  #group(close: string, readItem: (index: number) => boolean): boolean {
    this.#at++;
    if (this.#takeChar(close)) return true;
    for (let index = 0; ; index++) {
      if (!readItem(index)) return false;
      if (this.#takeChar(close)) return true;
      if (!this.#takeChar(",")) return false;
    }
  }

  #member(path: Path, depth: number): boolean {
    this.#take(blankPattern);
    const start = this.#at;
    if (!this.#take(stringPattern)) return false;
    const name: unknown = JSON.parse(this.#text.slice(start, this.#at));
    const here = [...path, String(name)];
    this.#record(here, start);
    return this.#takeChar(":") && this.#value(here, depth + 1);
  }

  #record(path: Path, offset: number): void {
    this.#offsets.set(JSON.stringify(path), offset);
  }

  #takeChar(char: string): boolean {
    this.#take(blankPattern);
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return false;
    this.#at += match[0].length;
    return true;
  }
}
