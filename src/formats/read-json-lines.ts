import { parseEntry } from "./parse-entry.ts";
import type { SourceEntry } from "./source-entry.ts";

/** The values of a text with one JSON value on each line; empty lines are passed over. */
export async function* readJsonLines(text: AsyncIterable<string>): AsyncGenerator<SourceEntry, void> {
  let line = 0;
  let rest = "";
  for await (const chunk of text) {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop() ?? "";
    for (const each of lines) {
      line++;
      if (each.trim() !== "") yield parseEntry(each, line, 1);
    }
  }
  if (rest.trim() !== "") yield parseEntry(rest, line + 1, 1);
}
