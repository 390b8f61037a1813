import { plainText } from "../base/terminal-text.ts";
import { scoreOf, type RunShape, type UnitRow } from "../store/run.ts";
import { costText, durationText, markText } from "./number-text.ts";
import { renderTable, type Column } from "./text-table.ts";

/** Draws units as a table, fitted to a terminal. */
export function renderUnits(rows: readonly UnitRow[], shape: RunShape, columns: number): string[] {
  const column = (title: string, align: Column["align"], text: (row: UnitRow) => string): Column => ({
    title,
    align,
    cells: rows.map((row) => ({ text: plainText(text(row)) })),
  });
  const scores = shape.scoreName === "" ? [] : [shape.scoreName, ...(shape.otherScores ?? [])];
  const isCostKnown = rows.some(({ spendUsd }) => (spendUsd ?? 0) > 0);
  return renderTable(
    [
      { ...column(shape.unitNoun, "left", ({ key }) => key), cutTo: 60, shrinkTo: 16 },
      column("status", "left", ({ status, isUntrusted }) => (isUntrusted ? `${status}, untrusted` : status)),
      ...scores.map((name, at) => ({
        ...column(name, "right", (row) => valueText(scoreOf(row, name))),
        ...(at === 0 ? {} : { drop: 2 }),
      })),
      { ...column("error", "left", ({ failure }) => failureText(failure)), cutTo: 40, drop: 1 },
      { ...column("time", "right", ({ durationSec }) => durationText(durationSec)), drop: 3 },
      ...(isCostKnown
        ? [{ ...column("cost", "right", ({ spendUsd }) => (spendUsd === null ? "?" : costText(spendUsd))), drop: 4 }]
        : []),
      { ...column("tries", "right", ({ tries }) => (tries > 1 ? String(tries) : "")), drop: 5 },
    ],
    columns,
  );
}

function valueText(value: number | null): string {
  return value === null ? "-" : markText(value);
}

function failureText(failure: UnitRow["failure"]): string {
  return failure === null ? "" : `${failure.type} (${failure.cause})`;
}
