import type { Example } from "../run/example.ts";
import { startExampleHash } from "./example-source.ts";
import type { PlainLine } from "./read-example-file.ts";

/** What all lines of a file come to. Those that are written as we write them are hashed as they lie, many at once. */
export class SeenLines {
  readonly #hash = startExampleHash();
  #block: Buffer | null = null;
  #from = 0;
  #to = 0;
  #plainBytes = 0;

  add(example: Example, plain: PlainLine | null): void {
    if (plain === null) {
      this.endBlock();
      this.#hash.add(example);
    } else if (plain.block === this.#block && plain.from === this.#to) this.#to = plain.to;
    else {
      this.endBlock();
      ({ block: this.#block, from: this.#from, to: this.#to } = plain);
    }
  }

  /** To be called before the bytes of the last lines are replaced. */
  endBlock(): void {
    if (this.#block === null) return;
    this.#hash.addLines(this.#block.subarray(this.#from, this.#to));
    this.#plainBytes += this.#to - this.#from;
    this.#block = null;
  }

  /** How much of the file is written as we write it. */
  get plainBytes(): number {
    return this.#plainBytes;
  }

  /** The hash of all examples. */
  digest(): string {
    return this.#hash.digest();
  }
}
