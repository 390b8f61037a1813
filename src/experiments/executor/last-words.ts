const longest = 500;

/** Remembers the end of what an executor printed, so that its loss can be told with it. */
export class LastWords {
  readonly #entries: { readonly at: number; readonly text: string }[] = [];
  #length = 0;

  /** `at` is the monotonic time. */
  add(at: number, text: string): void {
    this.#entries.push({ at, text: text.slice(-longest) });
    this.#length += Math.min(text.length, longest);
    while (this.#length - (this.#entries[0]?.text.length ?? 0) >= longest)
      this.#length -= this.#entries.shift()?.text.length ?? 0;
  }

  /** What was printed since then, on one line: what came before has nothing to do with it. */
  since(at: number): string {
    const texts = this.#entries.filter((entry) => entry.at >= at).map(({ text }) => text);
    return texts.join("").slice(-longest).replaceAll(/\s+/g, " ").trim();
  }
}
