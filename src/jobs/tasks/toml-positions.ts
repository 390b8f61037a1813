import { positionAt } from "../../base/problem.ts";

type Path = readonly (string | number)[];

/** Where the keys of a text stand. */
export interface KeyPositions {
  /** Line and column of a key, or of its nearest parent that is written down. */
  find(path: Path): { readonly line: number; readonly column: number } | undefined;
}

// What lies deeper is skipped over, so that a hostile file exhausts neither the stack nor our patience.
const deepestValue = 200;
const deepestPath = 50;

/** Finds the keys of a TOML text, valid or not; what it cannot read it passes over. */
export function findTomlKeys(text: string): KeyPositions {
  const offsets = new Map<string, number>();
  new TomlScanner(text, (path, offset) => {
    const key = JSON.stringify(path);
    if (!offsets.has(key)) offsets.set(key, offset);
  }).scan();
  return createKeyPositions(text, offsets);
}

/** Positions over a table of offsets, keyed by the path as JSON. */
export function createKeyPositions(text: string, offsets: ReadonlyMap<string, number>): KeyPositions {
  return {
    find(path) {
      for (let length = path.length; length > 0; length--) {
        const offset = offsets.get(JSON.stringify(path.slice(0, length)));
        if (offset !== undefined) return positionAt(text, offset);
      }
      return undefined;
    },
  };
}

class TomlScanner {
  readonly #text: string;
  readonly #record: (path: Path, offset: number) => void;
  readonly #arrayLengths = new Map<string, number>();
  #at = 0;

  constructor(text: string, record: (path: Path, offset: number) => void) {
    this.#text = text;
    this.#record = record;
  }

  scan(): void {
    let table: Path = [];
    while ((this.#skipBlank(), this.#at < this.#text.length)) {
      if (this.#peek() === "[") table = this.#header();
      else this.#keyValue(table, 0);
      this.#skipLine();
    }
  }

  #header(): Path {
    const isArray = this.#text.startsWith("[[", this.#at);
    this.#at += isArray ? 2 : 1;
    const parts = this.#keys();
    let path: Path = [];
    for (const [index, part] of parts.entries()) {
      path = [...path, part.name];
      this.#record(path, part.offset);
      const key = JSON.stringify(path);
      const length = this.#arrayLengths.get(key) ?? 0;
      if (isArray && index === parts.length - 1) {
        this.#arrayLengths.set(key, length + 1);
        path = [...path, length];
        this.#record(path, part.offset);
      } else if (length > 0) path = [...path, length - 1];
    }
    return path;
  }

  #keyValue(table: Path, depth: number): void {
    const start = this.#at;
    let path = table;
    for (const part of this.#keys()) {
      path = [...path, part.name];
      this.#record(path, part.offset);
    }
    this.#skipSpaces();
    if (this.#at === start || this.#peek() !== "=") return;
    this.#at++;
    this.#skipSpaces();
    this.#value(path, depth);
  }

  /** A dotted key with its quotes taken off. */
  #keys(): { name: string; offset: number }[] {
    const parts: { name: string; offset: number }[] = [];
    const add = (part: { name: string; offset: number }): unknown => parts.length < deepestPath && parts.push(part);
    for (;;) {
      this.#skipSpaces();
      const offset = this.#at;
      const quote = this.#peek();
      if (quote === '"' || quote === "'") {
        this.#string();
        add({ name: unquote(this.#text.slice(offset, this.#at)), offset });
      } else {
        this.#at += /^[A-Za-z0-9_-]*/.exec(this.#text.slice(offset, offset + 1_000))?.[0].length ?? 0;
        if (this.#at === offset) return parts;
        add({ name: this.#text.slice(offset, this.#at), offset });
      }
      this.#skipSpaces();
      if (this.#peek() !== ".") return parts;
      this.#at++;
    }
  }

  #value(path: Path, depth: number): void {
    const first = this.#peek();
    if (first === '"' || first === "'") this.#string();
    else if ((first === "[" || first === "{") && depth < deepestValue) this.#group(path, depth + 1, first === "[");
    else while (this.#at < this.#text.length && !",]}\n#".includes(this.#peek())) this.#at++;
  }

  #group(path: Path, depth: number, isArray: boolean): void {
    const close = isArray ? "]" : "}";
    this.#at++;
    for (let index = 0; ; index++) {
      this.#skipBlank();
      if (this.#at >= this.#text.length) return;
      if (this.#peek() === close) {
        this.#at++;
        return;
      }
      const start = this.#at;
      if (isArray) {
        this.#record([...path, index], this.#at);
        this.#value([...path, index], depth);
      } else this.#keyValue(path, depth);
      this.#skipBlank();
      if (this.#peek() === ",") this.#at++;
      else if (this.#peek() !== close && this.#at === start) return;
    }
  }

  #string(): void {
    const quote = this.#peek();
    const fence = this.#text.startsWith(quote.repeat(3), this.#at) ? quote.repeat(3) : quote;
    this.#at += fence.length;
    while (this.#at < this.#text.length && !this.#text.startsWith(fence, this.#at)) {
      if (fence.length === 1 && this.#peek() === "\n") return;
      this.#at += quote === '"' && this.#peek() === "\\" ? 2 : 1;
    }
    this.#at = Math.min(this.#at + fence.length, this.#text.length);
    // A multi-line string may end with up to two quotes of its own.
    if (fence.length === 3) while (this.#peek() === quote) this.#at++;
  }

  #skipBlank(): void {
    for (;;) {
      while (this.#at < this.#text.length && " \t\r\n".includes(this.#peek())) this.#at++;
      if (this.#peek() !== "#") return;
      this.#skipLine();
    }
  }

  #skipSpaces(): void {
    while (this.#at < this.#text.length && " \t".includes(this.#peek())) this.#at++;
  }

  #skipLine(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end === -1 ? this.#text.length : end + 1;
  }

  #peek(): string {
    return this.#text[this.#at] ?? "";
  }
}

function unquote(quoted: string): string {
  const inner = quoted.slice(1, -1);
  if (quoted.startsWith("'")) return inner;
  try {
    const value: unknown = JSON.parse(`"${inner}"`);
    return typeof value === "string" ? value : inner;
  } catch {
    return inner;
  }
}
