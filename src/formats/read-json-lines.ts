import { parseEntry } from "./parse-entry.ts";
import type { SourceEntry } from "./source-entry.ts";

/** One line of a text. */
interface SourceLine {
  readonly line: number;
  readonly column: 1;
  readonly text: string;
}

/** The values of a text with one JSON value on each line; empty lines are passed over. */
export async function* readJsonLines(text: AsyncIterable<string>): AsyncGenerator<SourceEntry, void> {
  for await (const lines of splitLines(text)) for (const each of lines) yield parseEntry(each.text, each.line, 1);
}

/** The lines of a text, as many at once as are there; empty ones are passed over. */
async function* splitLines(text: AsyncIterable<string>): AsyncGenerator<readonly SourceLine[], void> {
  let before = 0;
  let rest = "";
  for await (const chunk of text) {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield withoutEmpty(lines, before);
    before += lines.length;
  }
  yield withoutEmpty([rest], before);
}

function withoutEmpty(lines: readonly string[], before: number): SourceLine[] {
  const found: SourceLine[] = [];
  for (const [at, text] of lines.entries())
    if (text.trim() !== "") found.push({ line: before + at + 1, column: 1, text });
  return found;
}
