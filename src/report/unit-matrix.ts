import { plainText } from "../base/terminal-text.ts";
import { scoreOf, type RunShape, type UnitRow } from "../store/run.ts";
import { renderTable, type Column } from "./text-table.ts";

/** The outcomes of one item: a column for each group, a sign for each attempt. */
interface MatrixRow {
  readonly item: string;
  readonly cells: Map<string, UnitRow[]>;
}

export type MatrixOrder = "name" | "disagree" | "failed";

/** The signs: `.` passed, `x` not passed, `!` no score, `-` not run. */
export const matrixLegend = ". passed   x not passed   ! no score   - not run";

export interface MatrixOptions {
  readonly columns: number;
  readonly sort: MatrixOrder;
  /** The labels of all planned units, so that those that did not run are shown. Default: finished units only. */
  readonly planned?: readonly Readonly<Record<string, string>>[] | undefined;
}

/** Draws items x agents with every attempt, fitted to a terminal. */
export function renderMatrix(rows: readonly UnitRow[], shape: RunShape, options: MatrixOptions): string[] {
  const { columns, sort, planned = [] } = options;
  const [groupLabel = "", ...restLabels] = shape.groupBy;
  const items = new Map<string, MatrixRow>();
  const cellOf = (labels: Readonly<Record<string, string>>, key: string): UnitRow[] => {
    const name = [...restLabels.map((label) => labels[label] ?? ""), labels[shape.itemLabel] ?? key].join("/");
    const item = items.get(name) ?? { item: name, cells: new Map<string, UnitRow[]>() };
    items.set(name, item);
    const group = labels[groupLabel] ?? "";
    const cell = item.cells.get(group) ?? [];
    item.cells.set(group, cell);
    return cell;
  };
  const plannedCells = new Map<UnitRow[], number>();
  for (const labels of planned) {
    const cell = cellOf(labels, "");
    plannedCells.set(cell, (plannedCells.get(cell) ?? 0) + 1);
  }
  for (const row of rows) cellOf(row.labels, row.key).push(row);
  const groups = [...new Set([...items.values()].flatMap(({ cells }) => [...cells.keys()]))];
  const sizes = [...items.values()].flatMap(({ cells }) => [...cells.values()].map((cell) => cell.length));
  const attempts = Math.max(1, ...sizes, ...plannedCells.values());
  const sorted = [...items.values()].sort((a, b) => compare(a, b, sort, shape, groups));
  const isShared = new Set(sorted.map(({ item }) => item.slice(0, item.lastIndexOf("/")))).size === 1;
  const title = (item: string): string => plainText(isShared ? item.slice(item.lastIndexOf("/") + 1) : item);
  const table: Column[] = [
    {
      title: shape.itemLabel,
      align: "left",
      cells: sorted.map(({ item }) => ({ text: title(item) })),
      cutTo: 40,
      shrinkTo: 12,
    },
    ...groups.map((group): Column => ({
      title: plainText(group),
      align: "left",
      cells: sorted.map(({ cells }) => ({ text: signsOf(cells.get(group) ?? [], attempts, shape) })),
    })),
  ];
  return renderTable(table, columns);
}

function signsOf(cell: readonly UnitRow[], attempts: number, shape: RunShape): string {
  const signs = cell.toSorted((a, b) => a.index - b.index).map((row) => signOf(row, shape));
  return `${signs.join("")}${"-".repeat(Math.max(0, attempts - cell.length))}`;
}

function signOf(row: UnitRow, { scoreName, passAt }: RunShape): string {
  const value = scoreOf(row, scoreName);
  if (value === null) return row.failure === null && scoreName === "" ? "." : "!";
  return value >= passAt ? "." : "x";
}

function compare(a: MatrixRow, b: MatrixRow, sort: MatrixOrder, shape: RunShape, groups: readonly string[]): number {
  const byName = a.item < b.item ? -1 : a.item > b.item ? 1 : 0;
  if (sort === "name") return byName;
  const value = sort === "disagree" ? spreadOf : failedOf;
  return value(b, shape, groups) - value(a, shape, groups) || byName;
}

function failedOf({ cells }: MatrixRow, shape: RunShape): number {
  return [...cells.values()].flat().filter((row) => signOf(row, shape) !== ".").length;
}

/** How far the groups are apart in the share that passed. */
function spreadOf({ cells }: MatrixRow, shape: RunShape, groups: readonly string[]): number {
  const shares = groups.flatMap((group) => {
    const cell = cells.get(group) ?? [];
    return cell.length === 0 ? [] : [cell.filter((row) => signOf(row, shape) === ".").length / cell.length];
  });
  if (shares.length > 1) return Math.max(...shares) - Math.min(...shares);
  // Within one group, attempts disagree most when half of them pass.
  return shares.length === 1 ? 0.5 - Math.abs((shares[0] ?? 0) - 0.5) : 0;
}
