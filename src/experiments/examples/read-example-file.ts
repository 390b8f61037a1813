import { positionAt } from "../../base/problem.ts";
import { toRaw } from "../../base/raw-json.ts";
import { decodeText } from "../../formats/decode-text.ts";
import { findJsonError } from "../../formats/find-json-error.ts";
import { readBytes } from "../../formats/read-bytes.ts";
import { readCsv } from "../../formats/read-csv.ts";
import { splitJsonArray } from "../../formats/read-json-array.ts";
import { splitLines } from "../../formats/read-json-lines.ts";
import { formatOf, type SourceText } from "../../formats/source-entry.ts";
import type { Example } from "../run/example.ts";
import { exampleColumns, readExample, type ExampleProblem } from "./read-example.ts";

/** Where something stands in a file, from 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

/** An example and where it stands, or what is wrong there. */
export type FileEntry =
  | (Place & { readonly example: Example })
  | (Place & { readonly problems: readonly ExampleProblem[] });

/**
 * The examples of a file, as many at once as are there: a JSON array or CSV where the name says so, else JSON lines. One
 * without an id has its number for one. What was read at once must be gone through before the next is asked for.
 */
export async function* readExampleFile(path: string, signal: AbortSignal): AsyncGenerator<Iterable<FileEntry>, void> {
  let count = 0;
  function* toEntries(sources: readonly SourceText[]): Iterable<FileEntry> {
    for (const source of sources) yield toEntry(source, ++count);
  }
  for await (const sources of readTexts(path, signal)) yield toEntries(sources);
}

/** As many at once as are there: a promise for each would cost more than reading it. */
async function* readTexts(path: string, signal: AbortSignal): AsyncGenerator<readonly SourceText[], void> {
  const text = decodeText(readBytes(path, signal), path);
  const format = formatOf(path);
  if (format === "json") for await (const entry of splitJsonArray(text)) yield [entry];
  else if (format === "csv")
    for await (const entry of readCsv(text, { cells: "text", known: exampleColumns }))
      yield ["problem" in entry ? entry : { line: entry.line, column: entry.column, text: toRaw(entry.value) }];
  else yield* splitLines(text);
}

function toEntry(source: SourceText, number: number): FileEntry {
  const { line, column } = source;
  if ("problem" in source) return { line, column, problems: [{ message: source.problem }] };
  const read = readExample(source.text);
  if (read === null) return findProblem(source.text, { line, column });
  if ("input" in read) return { line, column, example: { ...read, id: read.id ?? String(number) } };
  return { line, column, problems: read };
}

/** What keeps a text from being a JSON object, and where. */
function findProblem(text: string, { line, column }: Place): FileEntry {
  try {
    JSON.parse(text);
    return { line, column, problems: [{ message: "expected an object with an `input`" }] };
  } catch {
    const { offset, message } = findJsonError(text);
    const place = positionAt(text, offset);
    const from = place.line === 1 ? column - 1 : 0;
    return { line: line + place.line - 1, column: from + place.column, problems: [{ message }] };
  }
}
