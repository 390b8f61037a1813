/** Finds where a mark stands in bytes that come in pieces. */
export class MarkFinder {
  readonly #mark: Buffer;
  #held: Buffer = Buffer.alloc(0);

  constructor(mark: string) {
    this.#mark = Buffer.from(mark);
  }

  /** The bytes that certainly come before the mark, and those after it once it was found. */
  take(bytes: Buffer): { readonly before: Buffer; readonly after: Buffer | null } {
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const at = all.indexOf(this.#mark);
    const end = at === -1 ? all.length - this.#beginning(all) : at;
    this.#held = at === -1 ? Buffer.from(all.subarray(end)) : Buffer.alloc(0);
    return { before: all.subarray(0, end), after: at === -1 ? null : all.subarray(at + this.#mark.length) };
  }

  /** What looked like the beginning of a mark and was none. */
  rest(): Buffer {
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return held;
  }

  // How many of the last bytes may be the first of the mark.
  #beginning(bytes: Buffer): number {
    const most = Math.min(this.#mark.length - 1, bytes.length);
    for (let count = most; count > 0; count--) {
      if (bytes.subarray(bytes.length - count).equals(this.#mark.subarray(0, count))) return count;
    }
    return 0;
  }
}
