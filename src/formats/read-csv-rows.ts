/** A row of a CSV text with the columns where its cells start, or what is wrong with it; lines and columns count from 1. */
export type CsvRow =
  | { readonly line: number; readonly cells: readonly string[]; readonly starts: readonly number[] }
  | { readonly line: number; readonly column: number; readonly problem: string };

/** The rows of a CSV text as RFC 4180 has it: quotes may hold commas, line breaks and doubled quotes. Empty lines are passed over. */
export async function* readCsvRows(text: AsyncIterable<string>): AsyncGenerator<CsvRow, void> {
  const parser = new CsvParser();
  for await (const chunk of text) yield* parser.push(chunk);
  yield* parser.end();
}

type Place = "start" | "plain" | "quoted" | "quote";

class CsvParser {
  #cells: string[] = [];
  #starts: number[] = [];
  #cellStart = 1;
  #cell = "";
  #place: Place = "start";
  #line = 1;
  #column = 0;
  #rowLine = 1;
  #quoteAt = { line: 1, column: 1 };
  #problem: CsvRow | null = null;

  *push(chunk: string): Generator<CsvRow, void> {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const character = chunk.charAt(at);
      this.#column++;
      if (this.#place === "quoted") {
        if (character === '"') {
          this.#cell += chunk.slice(start, at);
          this.#place = "quote";
        } else if (character === "\n") this.#nextLine();
        continue;
      }
      if (this.#place === "quote" && character === '"') {
        // Doubled: one quote of the cell, which goes on.
        this.#place = "quoted";
        start = at;
        continue;
      }
      if (character === "," || character === "\n") {
        if (this.#place === "plain") this.#cell += chunk.slice(start, at);
        this.#endCell();
        start = at + 1;
        if (character === "\n") {
          yield* this.#endRow();
          this.#nextLine();
          this.#rowLine = this.#line;
        }
      } else if (this.#place === "start") {
        start = at;
        this.#place = "plain";
        if (character === '"') {
          this.#place = "quoted";
          start = at + 1;
          this.#quoteAt = { line: this.#line, column: this.#column };
        }
      } else if (character !== "\r") this.#complain(character);
    }
    if (this.#place === "plain" || this.#place === "quoted") this.#cell += chunk.slice(start);
  }

  *end(): Generator<CsvRow, void> {
    if (this.#place === "quoted") {
      yield { ...this.#quoteAt, problem: "a quote is opened here and never closed" };
      return;
    }
    this.#endCell();
    yield* this.#endRow();
  }

  #complain(character: string): void {
    const at = { line: this.#line, column: this.#column };
    if (this.#place === "quote") {
      this.#problem ??= { ...at, problem: `expected a comma or the end of the line after the quote, not ${character}` };
    } else if (character === '"') {
      this.#problem ??= { ...at, problem: "a cell with a quote in it begins with one, and doubles those inside" };
    }
  }

  #endCell(): void {
    this.#cells.push(this.#place === "plain" ? this.#cell.replace(/\r$/, "") : this.#cell);
    this.#starts.push(this.#cellStart);
    this.#cellStart = this.#column + 1;
    this.#cell = "";
    this.#place = "start";
  }

  *#endRow(): Generator<CsvRow, void> {
    const cells = this.#cells;
    const starts = this.#starts;
    this.#cells = [];
    this.#starts = [];
    this.#cellStart = 1;
    const problem = this.#problem;
    this.#problem = null;
    if (problem) yield problem;
    else if (cells.length > 1 || (cells[0] ?? "").trim() !== "") yield { line: this.#rowLine, cells, starts };
  }

  #nextLine(): void {
    this.#line++;
    this.#column = 0;
  }
}
