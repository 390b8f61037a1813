import { describeUnknown } from "../base/suggest.ts";
import { isJsonCell, readCell, type CellReading } from "./csv-cell.ts";
import { findLossyJson } from "./find-lossy-json.ts";
import { readCsvRows } from "./read-csv-rows.ts";
import type { SourceEntry } from "./source-entry.ts";

export interface CsvOptions {
  readonly cells: CellReading;
  /** The columns that mean something, beside `input.NAME` and `metadata.NAME`; null takes every column as it is called. */
  readonly known: KnownColumns | null;
}

export interface KnownColumns {
  readonly names: readonly string[];
  /** What to do about a column of another name. */
  readonly way: string;
}

const folded = /^(input|metadata)\.(.+)$/;

/** The rows of a CSV text as objects with a key for each column; the first row names the columns. */
export async function* readCsv(text: AsyncIterable<string>, options: CsvOptions): AsyncGenerator<SourceEntry, void> {
  let columns: readonly string[] | null = null;
  for await (const row of readCsvRows(text)) {
    if ("problem" in row) yield row;
    else if (columns === null) {
      columns = row.cells.map((cell) => cell.trim());
      const problems = problemsOfColumns(columns, options);
      for (const { at, problem } of problems) yield { line: row.line, column: row.starts[at] ?? 1, problem };
      if (problems.length > 0) return;
    } else if (row.cells.length !== columns.length) {
      const counts = `${row.cells.length} cells, but there are ${columns.length} columns`;
      yield { line: row.line, column: 1, problem: `the row has ${counts}; quote cells that hold a comma` };
    } else {
      const problems = [...problemsOfCells(columns, row.cells, options)];
      for (const { at, problem } of problems) yield { line: row.line, column: row.starts[at] ?? 1, problem };
      if (problems.length === 0) yield { line: row.line, column: 1, value: toRecord(columns, row.cells, options) };
    }
  }
  if (columns === null) yield { line: 1, column: 1, problem: "expected a first line that names the columns" };
}

/** What is wrong with one cell of a row. */
interface CellProblem {
  readonly at: number;
  readonly problem: string;
}

function* problemsOfCells(
  columns: readonly string[],
  cells: readonly string[],
  { cells: reading }: CsvOptions,
): Iterable<CellProblem> {
  for (const [at, cell] of cells.entries()) {
    const lossy = columns[at] === "id" ? null : findLossyJson(cell);
    if (lossy !== null && isJsonCell(cell, reading))
      yield { at, problem: `column "${columns[at] ?? ""}": ${lossy.message}` };
  }
}

function problemsOfColumns(columns: readonly string[], { known }: CsvOptions): CellProblem[] {
  const twice = columns.findIndex((column, at) => columns.indexOf(column) !== at);
  if (twice >= 0) return [{ at: twice, problem: `two columns are called "${columns[twice] ?? ""}"` }];
  if (known === null) return [];
  const separator = columns.length === 1 ? [";", "\t", "|"].find((one) => columns[0]?.includes(one)) : undefined;
  if (separator !== undefined) {
    const name = separator === "\t" ? "tabs" : `"${separator}"`;
    return [{ at: 0, problem: `the columns are separated by ${name}; CSV is read with commas between its cells` }];
  }
  const double = ["input", "metadata"].find(
    (name) => columns.includes(name) && columns.some((each) => each.startsWith(`${name}.`)),
  );
  if (double !== undefined)
    return [
      {
        at: columns.indexOf(double),
        problem: `there is a column "${double}" beside columns "${double}.NAME"; have one or the others`,
      },
    ];
  const { names, way } = known;
  const told = [...names.filter((name) => /^[a-z_]+$/.test(name)), "metadata.NAME", "input.NAME"];
  return columns.flatMap((column, at) => {
    if (names.includes(column) || folded.test(column)) return [];
    return [{ at, problem: `column "${column}": ${describeUnknown("column", column, told)}; ${way}` }];
  });
}

function toRecord(columns: readonly string[], cells: readonly string[], { cells: reading, known }: CsvOptions) {
  const record: Record<string, unknown> = {};
  columns.forEach((column, at) => {
    const cell = cells[at] ?? "";
    const [, group, name] = known === null ? [] : (folded.exec(column) ?? []);
    // An empty cell says nothing, but an input may be empty.
    if (cell === "" && column !== "input" && known !== null) return;
    const value = column === "id" ? cell : readCell(cell, reading);
    if (group === undefined || name === undefined) record[column] = value;
    else record[group] = { ...(record[group] as object | undefined), [name]: value };
  });
  return record;
}
