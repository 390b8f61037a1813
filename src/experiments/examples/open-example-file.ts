import { stat } from "node:fs/promises";
import { KeyTable } from "../../base/key-table.ts";
import { ProblemList } from "../../base/problem-list.ts";
import type { Example } from "../run/example.ts";
import type { ExampleSource } from "./example-source.ts";
import { readExampleFile, type FileEntry } from "./read-example-file.ts";
import { SeenLines } from "./seen-lines.ts";

export interface ExampleFileRequest {
  readonly path: string;
  /** What people call it. */
  readonly name: string;
  readonly signal: AbortSignal;
}

/** Looks at every example of a file, in memory that hardly grows with them; throws all that is wrong at once. */
export async function openExampleFile(request: ExampleFileRequest): Promise<ExampleSource> {
  const { path, name, signal } = request;
  const problems = new ProblemList();
  const ids = new KeyTable({ hasValues: false });
  const lines = new SeenLines();
  let count = 0;
  for await (const entries of readExampleFile(path, signal)) {
    for (const entry of entries) {
      if (problems.isFull) break;
      const { line, column } = entry;
      if ("problems" in entry)
        for (const problem of entry.problems) problems.add({ file: path, line, column, ...problem });
      else {
        const { id } = entry.example;
        count++;
        lines.add(entry.example, entry.plain);
        const first = ids.put(id) ? null : await findFirst(request, id, line);
        if (first !== null)
          problems.add({ file: path, line, column, path: "id", message: `"${id}" is in line ${first} already` });
      }
    }
    lines.endBlock();
    if (problems.isFull) break;
  }
  if (count === 0 && problems.isEmpty) problems.add({ file: path, message: "there are no examples in it" });
  problems.check(name, "nothing was run");
  const plainFile = lines.plainBytes === (await stat(path)).size ? path : null;
  return { name, dataset: null, count, hash: lines.digest(), plainFile, read: () => readChecked(path, signal) };
}

/** The line before another one that has an example of this id; null when only a hash was the same. */
async function findFirst({ path, signal }: ExampleFileRequest, id: string, before: number): Promise<number | null> {
  for await (const entries of readExampleFile(path, signal))
    for (const entry of entries) {
      if (entry.line >= before) return null;
      if ("example" in entry && entry.example.id === id) return entry.line;
    }
  return null;
}

async function* readChecked(path: string, signal: AbortSignal): AsyncGenerator<Iterable<Example>, void> {
  for await (const entries of readExampleFile(path, signal)) yield checked(entries, path);
}

function* checked(entries: Iterable<FileEntry>, path: string): Iterable<Example> {
  for (const entry of entries) {
    if ("example" in entry) yield entry.example;
    else {
      const problems = new ProblemList();
      for (const problem of entry.problems) problems.add({ file: path, line: entry.line, ...problem });
      problems.check(path, "it was changed while it was read");
    }
  }
}
