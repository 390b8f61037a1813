import { parseEntry } from "./parse-entry.ts";
import type { SourceEntry, SourceText } from "./source-entry.ts";

type State = "before" | "value" | "between" | "after";

/** The values of a text that is one JSON array, without ever holding more than one of them. */
export async function* readJsonArray(text: AsyncIterable<string>): AsyncGenerator<SourceEntry, void> {
  for await (const entry of splitJsonArray(text))
    yield "problem" in entry ? entry : parseEntry(entry.text, entry.line, entry.column);
}

/** The same values as they are written; whether each of them is JSON is not looked at. */
export async function* splitJsonArray(text: AsyncIterable<string>): AsyncGenerator<SourceText, void> {
  const splitter = new ArraySplitter();
  for await (const chunk of text) {
    for (const entry of splitter.push(chunk)) {
      yield entry;
      if ("problem" in entry && splitter.isLost) return;
    }
  }
  const problem = splitter.end();
  if (problem) yield problem;
}

/** Finds where the elements of an array begin and end; what is in them is for the parser to judge. */
class ArraySplitter {
  isLost = false;
  #state: State = "before";
  #value = "";
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isFirst = true;
  #line = 1;
  #column = 1;
  #from = { line: 1, column: 1 };

  *push(chunk: string): Generator<SourceText, void> {
    let start = this.#state === "value" ? 0 : -1;
    for (let at = 0; at < chunk.length; at++) {
      const character = chunk.charAt(at);
      if (this.#state === "value") {
        if (this.#isEndOfValue(character)) {
          yield this.#take(chunk.slice(start, at));
          start = -1;
        }
      }
      if (this.#state !== "value" && !" \t\r\n".includes(character)) {
        const problem = this.#step(character);
        if (problem !== null) {
          this.isLost = true;
          yield { line: this.#line, column: this.#column, problem };
          return;
        }
        // What began the value is looked at once more, as a part of it.
        if (this.#isValueBegun()) {
          start = at;
          this.#isEndOfValue(character);
        }
      }
      this.#move(character);
    }
    if (start >= 0) this.#value += chunk.slice(start);
  }

  end(): SourceText | null {
    if (this.#state === "after" || this.isLost) return null;
    const problem = this.#state === "before" ? "expected a JSON array: [" : 'expected "]", but the text ends';
    return { line: this.#line, column: this.#column, problem };
  }

  #isValueBegun(): boolean {
    return this.#state === "value" && this.#from.line === this.#line && this.#from.column === this.#column;
  }

  #step(character: string): string | null {
    if (this.#state === "before") {
      if (character !== "[") return "expected a JSON array: [";
      this.#state = "between";
      return null;
    }
    if (this.#state === "after") return "expected nothing more after the array";
    if (character === "]") {
      if (!this.#isFirst && !this.#isCommaDue) return 'expected a value: a "," before "]" has nothing behind it';
      this.#state = "after";
      return null;
    }
    if (character === ",") {
      if (this.#isFirst) return "expected a value";
      // A comma ends a value; another one would have nothing before it.
      return this.#isCommaDue ? ((this.#isCommaDue = false), null) : "expected a value";
    }
    if (this.#isCommaDue) return 'expected "," or "]"';
    this.#state = "value";
    this.#isFirst = false;
    this.#from = { line: this.#line, column: this.#column };
    return null;
  }

  #isCommaDue = false;

  #isEndOfValue(character: string): boolean {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === "\\") this.#isEscaped = true;
      else if (character === '"') this.#isInString = false;
      return false;
    }
    if (character === '"') this.#isInString = true;
    else if (character === "{" || character === "[") this.#depth++;
    else if (character === "}" || character === "]") {
      if (this.#depth === 0) return true;
      this.#depth--;
    } else if (character === "," && this.#depth === 0) return true;
    return false;
  }

  #take(last: string): SourceText {
    const text = this.#value + last;
    this.#value = "";
    this.#state = "between";
    this.#isCommaDue = true;
    return { ...this.#from, text };
  }

  #move(character: string): void {
    if (character === "\n") {
      this.#line++;
      this.#column = 1;
    } else this.#column++;
  }
}
