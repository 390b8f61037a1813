/** What a benchmark has found, held against what it should find. */
export class Bars {
  readonly #bars: { readonly text: string; readonly isMet: boolean }[] = [];

  report(text: string, isMet: boolean): void {
    this.#bars.push({ text, isMet });
    console.log(`  ${text}`);
  }

  print(): void {
    console.log("\nbars");
    for (const { text, isMet } of this.#bars) console.log(`  ${isMet ? "met    " : "NOT met"}  ${text}`);
  }
}
