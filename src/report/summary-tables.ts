import type { Interval } from "../analysis/interval.ts";
import { max } from "../analysis/aggregates.ts";
import { fitMiddle, plainText } from "../base/terminal-text.ts";
import type { RunShape, Score } from "../store/run.ts";
import { intervalBar, paintBar } from "./interval-bar.ts";
import { costText, durationFormat, groupDigits, markText, percentText } from "./number-text.ts";
import type { Style } from "./style.ts";
import type { GroupSummary, RunSummary, TimeSummary } from "./summarize-tally.ts";
import { renderTable, type Cell, type Column } from "./text-table.ts";

// Longer names would push out what they are there to name.
const nameLook = { align: "left", cutTo: 32, shrinkTo: 4 } as const;

/** The table of results: a row for each group, and one for all of one agent's; without marks it counts what has finished. */
export function renderResults(summary: RunSummary, columns: number, style: Style): string[] {
  const { scored, failed, unmarked } = summary.overall;
  if (scored + failed + unmarked === 0) return [];
  const table = planRows(summary, style);
  const cells = isMarked(summary.overall, summary.run.shape) ? markColumns(table, columns) : countColumns(table);
  return renderTable([...labelColumns(table), ...cells], columns, style.dim);
}

function markColumns(table: RowTable, columns: number): Column[] {
  const { rows, style, shape, column } = table;
  const k = commonK(rows);
  const isMean = leadsWithMean(table);
  return [
    ...leadColumns(table, isMean, columns),
    isMean
      ? column("scored", (row) => countCell(row.scored, row, style, row.unmarked))
      : column("passed", (row) => passedCell(row, style)),
    ...(rows.some(({ excluded }) => excluded.length > 0)
      ? [{ ...column("not counted", (row) => excludedCell(row, style)), drop: 21, isFirm: true }]
      : []),
    ...secondColumns(table, isMean),
    ...(k === null
      ? []
      : [
          { ...column(`pass@${k}`, (row) => ratio(valueAt(row.marks.passAtK, k))), drop: 40 },
          { ...column(`pass^${k}`, (row) => ratio(valueAt(row.marks.passHatK, k))), drop: 40 },
        ]),
    ...(rows.some((row) => row.cost.usd > 0 || (row.cost.unknownUnits > 0 && shape.showsCost !== false))
      ? [costColumn(table)]
      : []),
    medianColumn(table),
  ];
}

/** A lone scorer with grades leads with its mean; everything else with the share that passes. */
function leadsWithMean({ rows, shape }: RowTable): boolean {
  const isLone = shape.isScore === true && (shape.otherScores ?? []).length === 0;
  return isLone && rows.some((row) => row.marks.isGraded);
}

function leadColumns(table: RowTable, isMean: boolean, columns: number): Column[] {
  const { style, column } = table;
  const cells = columns < 100 ? 13 : 21;
  const scale = isMean ? "0".padEnd(cells - 1) + "1" : "0%".padEnd(cells - 4) + "100%";
  const bar = (row: GroupSummary): Cell => (isMean ? meanBar(row.marks, cells, style) : rateBar(row, cells, style));
  return [
    isMean ? meanColumn(table) : passColumn(table),
    { ...column(scale, bar), align: "left", drop: 30, isFirm: true },
    { ...(isMean ? meanIntervalColumn(table) : passIntervalColumn(table)), drop: 20, isFirm: true },
  ];
}

function secondColumns(table: RowTable, isMean: boolean): Column[] {
  if (isMean) {
    return [
      { ...passColumn(table), drop: 22, isFirm: true },
      { ...passIntervalColumn(table), drop: 70 },
    ];
  }
  const graded = table.rows.some((row) => row.marks.isGraded);
  if (!graded) return [{ ...meanColumn(table), drop: 60 }];
  return [
    { ...meanColumn(table), drop: 22, isFirm: true },
    { ...meanIntervalColumn(table), drop: 70 },
  ];
}

function passColumn({ shape, style, column }: RowTable): Column {
  // The name is cut where the whole title would push out what it stands over.
  const rule = `${fitMiddle(plainText(shape.scoreName), 24)} ${style.signs.atLeast} ${shape.passAt}`;
  return column(shape.isScore === true ? `pass (${rule})` : "pass", (row) => ratio(row.marks.headline.rate));
}

function passIntervalColumn({ style, column }: RowTable): Column {
  return column("95% CI", (row) => rateRangeText(row.marks.headline.interval, style));
}

function meanColumn({ shape, column }: RowTable): Column {
  return column(`mean ${plainText(shape.scoreName)}`, (row) => number(row.marks.meanMark, markText));
}

function meanIntervalColumn({ style, column }: RowTable): Column {
  return column("95% CI", (row) => rangeText(row.marks.meanMarkInterval, markText, style));
}

function countColumns(table: RowTable): Column[] {
  const { style } = table;
  return [
    table.column("finished", (row) => countCell(row.unmarked, row, style)),
    table.column("failed", (row) => ({
      text: groupDigits(row.failed),
      paint: row.failed > 0 ? style.red : undefined,
    })),
    ...(table.shape.showsCost === false ? [] : [costColumn(table)]),
    medianColumn(table),
  ];
}

function costColumn(table: RowTable): Column {
  return { ...table.column("cost", costCell), drop: 35 };
}

function medianColumn(table: RowTable): Column {
  const format = durationFormat(table.rows.flatMap(({ duration }) => duration?.medianSec ?? []));
  return { ...table.column("median time", (row) => number(row.duration?.medianSec ?? null, format)), drop: 50 };
}

/** The table of the metrics that were asked for, with the rows of the results. */
export function renderMetrics(summary: RunSummary, columns: number, style: Style): string[] {
  const { shape, plan } = summary.run;
  const { metrics } = plan;
  if (metrics.length === 0 || summary.overall.scored === 0) return [];
  const table = planRows(summary, style);
  const nameOf = (row: GroupSummary): string =>
    table.isOverall(row) ? "all" : plainText(shape.groupBy.map((label) => row.labels[label] ?? "").join(" "));
  const valueOf = (row: GroupSummary, name: string): number | null =>
    row.metrics.find((metric) => metric.name === name)?.value ?? null;
  return renderTable(
    [
      { ...table.column(plainText(shape.scoreName), nameOf), ...nameLook },
      ...metrics.map((name) => table.column(plainText(name), (row) => number(valueOf(row, name), markText))),
    ],
    columns,
    style.dim,
  );
}

/** The table of all marks of a run that has several: a row for each, and one for each group of it. */
export function renderMarks(summary: RunSummary, columns: number, style: Style): string[] {
  const { shape } = summary.run;
  if ((shape.otherScores ?? []).length === 0 || summary.overall.finished === 0) return [];
  const rows = summary.groups.flatMap((group) =>
    [{ name: shape.scoreName, marks: group.marks }, ...group.otherScores].map((row) => ({ ...row, group })),
  );
  const column = (title: string, cell: (row: MarkRow) => Cell | string | null): Column => ({
    title,
    align: "right",
    cells: rows.map((row) => toCell(cell(row), false, style)),
  });
  const cells = columns < 100 ? 13 : 21;
  const scale = "0".padEnd(cells - 1) + "1";
  const groupOf = ({ group }: MarkRow): string => shape.groupBy.map((label) => group.labels[label] ?? "").join(" ");
  return renderTable(
    [
      { ...column("mark", ({ name }) => plainText(name)), ...nameLook },
      ...(summary.groups.length > 1 ? [{ ...column("of", (row) => plainText(groupOf(row))), ...nameLook }] : []),
      column("mean", ({ marks }) => number(marks.meanMark, markText)),
      { ...column(scale, (row) => meanBar(row.marks, cells, style)), align: "left", drop: 30, isFirm: true },
      { ...column("95% CI", ({ marks }) => rangeText(marks.meanMarkInterval, markText, style)), drop: 20 },
      column("scored", ({ marks, group }) => countCell(marks.values, group, style)),
    ],
    columns,
    style.dim,
  );
}

interface MarkRow {
  readonly name: string;
  readonly marks: GroupSummary["marks"];
  readonly group: GroupSummary;
}

/** Only marks between 0 and 1 have a scale to be drawn on. */
function meanBar({ meanMark, meanMarkInterval }: MarkRow["marks"], cells: number, style: Style): Cell {
  const { low, high } = meanMarkInterval ?? { low: meanMark ?? -1, high: meanMark ?? -1 };
  if (meanMark === null || low < 0 || high > 1) return { text: "" };
  return { text: intervalBar(low, high, meanMark, cells, style), paint: (bar) => paintBar(bar, style, style.cyan) };
}

/** The scores of the run as a whole, a line for each. */
export function renderRunScores(marks: readonly Score[], columns: number, style: Style): string[] {
  if (marks.length === 0) return [];
  const column = (title: string, cell: (mark: Score) => string | null): Column => ({
    title,
    align: "left",
    cells: marks.map((mark) => toCell(cell(mark), false, style)),
  });
  return renderTable(
    [
      { ...column("of the whole run", ({ name }) => plainText(name)), ...nameLook },
      { ...column("score", ({ value }) => number(value, markText)), align: "right" },
      { ...column("", (score) => plainText(noteOf(score))), drop: 1 },
    ],
    columns,
    style.dim,
  );
}

/** Why there is no score, or what is said of it. */
function noteOf({ label, reason, error }: Score): string {
  return error ?? [label, reason].filter((text) => text !== undefined && text !== "").join("; ");
}

/** The rows of a summary, and columns that each show one thing about all of them. */
interface RowTable {
  readonly rows: readonly GroupSummary[];
  readonly shape: RunShape;
  readonly style: Style;
  readonly isOverall: (row: GroupSummary) => boolean;
  readonly column: (title: string, cell: (row: GroupSummary) => Cell | string | null) => Column;
}

function planRows({ run, groups, overall }: RunSummary, style: Style): RowTable {
  const [first = ""] = run.shape.groupBy;
  // A number over different agents says nothing about any of them.
  const isOneKind = new Set(groups.map(({ labels }) => labels[first])).size === 1;
  const rows = groups.length > 1 && isOneKind ? [...groups, overall] : groups;
  const isOverall = (row: GroupSummary): boolean => row === overall;
  return {
    rows,
    shape: run.shape,
    style,
    isOverall,
    column: (title, cell) => ({
      title,
      align: "right",
      cells: rows.map((row) => toCell(cell(row), isOverall(row), style)),
    }),
  };
}

function labelColumns({ shape, isOverall, column }: RowTable): Column[] {
  return shape.groupBy.map((label, index) => {
    const name = (row: GroupSummary): string =>
      isOverall(row) ? (index === 0 ? "all" : "") : plainText(row.labels[label] ?? "");
    return { ...column(plainText(label), name), ...nameLook };
  });
}

/** The table of times: a row for each phase, drawn to one scale. */
export function renderPhases(summary: RunSummary, columns: number, style: Style): string[] {
  const { phases, duration } = summary.overall;
  if (!duration || phases.length === 0) return [];
  const rows = [...phases, { ...duration, name: `whole ${summary.run.shape.unitNoun}` }];
  const longest = max(rows.map((row) => row.p95Sec)) ?? 0;
  const format = durationFormat(rows.flatMap(({ medianSec, p95Sec }) => [medianSec, p95Sec]));
  const column = (title: string, cell: (row: TimeSummary) => string | Cell, drop?: number): Column => ({
    title,
    align: "right",
    drop,
    cells: rows.map((row) => toCell(cell(row), false, style)),
  });
  const { span, track } = style.signs;
  const cells = columns < 100 ? 20 : 40;
  return renderTable(
    [
      { ...column("time", (row) => plainText(row.name).replaceAll("_", " ")), ...nameLook },
      column("median", (row) => format(row.medianSec)),
      column("p95", (row) => format(row.p95Sec)),
      {
        ...column(`${span} median ${track} p95`, (row) => timeBar(row, longest, cells, style), 1),
        align: "left",
      },
    ],
    columns,
    style.dim,
  );
}

function toCell(cell: Cell | string | null, emphasised: boolean, style: Style): Cell {
  if (cell === null) return { text: style.signs.dash, paint: style.dim };
  const full = typeof cell === "string" ? { text: cell } : cell;
  return emphasised && !full.paint ? { ...full, paint: style.bold } : full;
}

function ratio(rate: number | null): string | null {
  return number(rate, percentText);
}

function number(value: number | null, format: (value: number) => string): string | null {
  return value === null ? null : format(value);
}

function rateBar(row: GroupSummary, cells: number, style: Style): Cell {
  const { rate, interval } = row.marks.headline;
  if (rate === null) return { text: "" };
  const { low, high } = interval ?? { low: rate, high: rate };
  return {
    text: intervalBar(low, high, rate, cells, style),
    paint: (bar) => paintBar(bar, style, style.cyan),
  };
}

/** Bounds are rounded plainly: unlike a rate they make no claim to be exact, unless both come to the same end. */
function boundText({ low, high }: Interval): (rate: number) => string {
  const isCertain = [0, 100].some((end) => Math.round(low * 100) === end && Math.round(high * 100) === end);
  if (!isCertain) return (rate) => `${Math.round(rate * 100)}%`;
  // Away from the end: neither 99.97 nor 0.03 is it.
  return (rate) => `${(rate < 0.5 ? Math.ceil(rate * 1000) : Math.floor(rate * 1000)) / 10}%`;
}

function rangeText(interval: Interval | null, format: (value: number) => string, style: Style): string | null {
  if (!interval) return null;
  const low = format(interval.low);
  return `${low.endsWith("%") ? low.slice(0, -1) : low}${style.signs.dash}${format(interval.high)}`;
}

function rateRangeText(interval: Interval | null, style: Style): string | null {
  return interval && rangeText(interval, boundText(interval), style);
}

function passedCell({ marks: { headline }, untrustedPasses }: GroupSummary, style: Style): Cell {
  const text = `${groupDigits(headline.passed)} of ${groupDigits(headline.counted)}`;
  if (untrustedPasses === 0) return { text };
  return { text: `${text}, ${groupDigits(untrustedPasses)} untrusted`, paint: style.red };
}

/** The heading names the reasons. */
function excludedCell({ excluded }: GroupSummary, style: Style): Cell | null {
  const count = excluded.reduce((total, entry) => total + entry.count, 0);
  return count === 0 ? null : { text: groupDigits(count), paint: style.yellow };
}

/** Returns false for a run in which nobody gives marks. */
export function isMarked({ scored, unmarked }: GroupSummary, { scoreName }: RunShape): boolean {
  return scored > 0 || (unmarked === 0 && scoreName !== "");
}

/** `infrastructure`, or `2 infrastructure, 1 cancelled` when there are several reasons. */
export function excludedText(excluded: GroupSummary["excluded"]): string {
  if (excluded.length === 1) return plainText(excluded[0]?.reason ?? "");
  return excluded.map(({ reason, count }) => `${groupDigits(count)} ${plainText(reason)}`).join(", ");
}

/** So many of those planned; it stands out when it and what may be missing do not make up all of them. */
function countCell(count: number, row: GroupSummary, style: Style, missing = 0): Cell {
  const planned = row.planned ?? row.finished;
  const text = `${groupDigits(count)} of ${groupDigits(planned)}`;
  return count < planned - missing ? { text, paint: style.yellow } : { text };
}

function valueAt(list: readonly { readonly k: number; readonly value: number }[], k: number): number | null {
  return list.find((at) => at.k === k)?.value ?? null;
}

function costCell(row: GroupSummary): string | null {
  const { usd, unknownUnits } = row.cost;
  if (unknownUnits === 0) return costText(usd);
  return unknownUnits === row.finished ? "unknown" : `${costText(usd)} + ?`;
}

/** The largest number of attempts that every row with several attempts has. */
function commonK(rows: readonly GroupSummary[]): number | null {
  const lists = rows.map((row) => row.marks.passAtK.map(({ k }) => k)).filter((ks) => ks.length > 0);
  const shared = (lists[0] ?? []).filter((k) => k > 1 && lists.every((ks) => ks.includes(k)));
  return max(shared);
}

function timeBar(row: TimeSummary, longest: number, cells: number, style: Style): Cell {
  const length = (seconds: number): number => (longest > 0 ? Math.round((seconds / longest) * cells) : 0);
  const solid = style.signs.span.repeat(length(row.medianSec));
  const thin = style.signs.track.repeat(Math.max(0, length(row.p95Sec) - length(row.medianSec)));
  return {
    text: solid + thin,
    paint: (bar) => style.cyan(bar.slice(0, solid.length)) + style.dim(bar.slice(solid.length)),
  };
}
