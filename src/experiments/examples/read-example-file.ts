import { positionAt } from "../../base/problem.ts";
import { JsonText } from "../../base/json-text.ts";
import { toRaw } from "../../base/raw-json.ts";
import { scanObject } from "../../base/scan-object.ts";
import { decodeText } from "../../formats/decode-text.ts";
import { findJsonError } from "../../formats/find-json-error.ts";
import { readBytes } from "../../formats/read-bytes.ts";
import { readCsv } from "../../formats/read-csv.ts";
import { splitJsonArray } from "../../formats/read-json-array.ts";
import { readLineBlocks } from "../../formats/read-line-blocks.ts";
import { formatOf, type SourceText } from "../../formats/source-entry.ts";
import type { Example } from "../run/example.ts";
import { exampleColumns, readExample, type ExampleProblem, type ReadExample } from "./read-example.ts";

/** Where something stands in a file, from 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

/** An example and where it stands, or what is wrong there. */
export type FileEntry =
  | (Place & { readonly example: Example; readonly plain: PlainLine | null })
  | (Place & { readonly problems: readonly ExampleProblem[] });

/** A line that is written as we write it ourselves, with its end. */
export interface PlainLine {
  readonly block: Buffer;
  readonly from: number;
  readonly to: number;
}

/**
 * The examples of a file, as many at once as are there: a JSON array or CSV where the name says so, else JSON lines. One
 * without an id has its number for one. What was read at once must be gone through before the next is asked for.
 */
export async function* readExampleFile(path: string, signal: AbortSignal): AsyncGenerator<Iterable<FileEntry>, void> {
  const format = formatOf(path);
  if (format === "json" || format === "csv") {
    let count = 0;
    for await (const source of readTexts(path, format, signal)) yield [toEntry(source, ++count)];
  } else yield* readLineEntries(path, signal);
}

/** As many at once as are there: a promise for each would cost more than reading it. */
async function* readLineEntries(path: string, signal: AbortSignal): AsyncGenerator<Iterable<FileEntry>, void> {
  let line = 0;
  let count = 0;
  function* toEntries(block: Buffer): Iterable<FileEntry> {
    const source = JsonText.ofLines(block);
    let from = 0;
    for (let to = source.find("\n", from); to !== -1; from = to + 1, to = source.find("\n", from)) {
      line++;
      const members = source.scanObject(from, to);
      const read = members && readExample(members);
      if (read !== null && "input" in read) {
        count++;
        const example = withId(read, count);
        yield { line, column: 1, example, plain: read.plainLength === to - from ? { block, from, to: to + 1 } : null };
      } else {
        const text = source.slice(from, to);
        if (text.trim() !== "") yield toEntry({ line, column: 1, text }, ++count);
      }
    }
  }
  for await (const block of readLineBlocks(path, signal)) yield toEntries(block);
}

async function* readTexts(path: string, format: "json" | "csv", signal: AbortSignal): AsyncGenerator<SourceText, void> {
  const text = decodeText(readBytes(path, signal), path);
  if (format === "json") yield* splitJsonArray(text);
  else
    for await (const entry of readCsv(text, { cells: "text", known: exampleColumns }))
      yield "problem" in entry ? entry : { line: entry.line, column: entry.column, text: toRaw(entry.value) };
}

function toEntry(source: SourceText, number: number): FileEntry {
  const { line, column } = source;
  if ("problem" in source) return { line, column, problems: [{ message: source.problem }] };
  const members = scanObject(source.text);
  if (members === null) return findProblem(source.text, { line, column });
  const read = readExample(members);
  if ("input" in read) return { line, column, example: withId(read, number), plain: null };
  return { line, column, problems: read };
}

function withId({ id, input, output, metadata }: ReadExample, number: number): Example {
  return { id: id ?? String(number), input, output, metadata };
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
