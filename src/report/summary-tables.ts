import type { Interval } from "../analysis/interval.ts";
import { max } from "../analysis/aggregates.ts";
import { plainText } from "../base/terminal-text.ts";
import { intervalBar, paintBar } from "./interval-bar.ts";
import { costText, durationText, groupDigits, markText, percentText } from "./number-text.ts";
import type { Style } from "./style.ts";
import type { GroupSummary, RunSummary, TimeSummary } from "./summarize-tally.ts";
import { renderTable, type Cell, type Column } from "./text-table.ts";

/** The table of results: a row for each group, and one for all when there are several. */
export function renderResults(summary: RunSummary, columns: number, style: Style): string[] {
  const { shape } = summary.run;
  const rows = summary.groups.length > 1 ? [...summary.groups, summary.overall] : summary.groups;
  const isOverall = (row: GroupSummary): boolean => row === summary.overall;
  const column = (
    title: string,
    drop: number | undefined,
    cell: (row: GroupSummary) => Cell | string | null,
    align: "left" | "right" = "right",
  ): Column => ({ title, align, drop, cells: rows.map((row) => toCell(cell(row), isOverall(row), style)) });

  const labels = shape.groupBy.map((label, index): Column => {
    const name = (row: GroupSummary): string =>
      isOverall(row) ? (index === 0 ? "all" : "") : plainText(row.labels[label] ?? "");
    return { ...column(plainText(label), undefined, name, "left"), shrinkTo: 4 };
  });
  const uneven = rows.some((row) => row.scored < (row.planned ?? row.finished) - row.unmarked);
  const graded = rows.some((row) => row.marks.meanMark !== row.marks.passRate);
  const k = commonK(rows);
  const cells = columns < 100 ? 13 : 21;
  return renderTable(
    [
      ...labels,
      column("pass", undefined, (row) => ratio(row.marks.passRate)),
      column("0%".padEnd(cells - 4) + "100%", 30, (row) => rateBar(row, cells, style), "left"),
      column("95% CI", 20, (row) => rangeText(row.marks.passRateInterval, boundText, style)),
      column("scored", undefined, (row) => scoredCell(row, style)),
      ...(uneven ? [column("of all", 25, (row) => ratio(row.overPlanned?.passRate ?? null))] : []),
      column(`mean ${plainText(shape.markName)}`, graded ? 22 : 60, (row) => number(row.marks.meanMark, markText)),
      ...(graded ? [column("95% CI", 70, (row) => rangeText(row.marks.meanMarkInterval, markText, style))] : []),
      ...(k === null
        ? []
        : [
            column(`pass@${k}`, 41, (row) => ratio(row.marks.passAtK.find((at) => at.k === k)?.value ?? null)),
            column(`pass^${k}`, 40, (row) => ratio(row.marks.passHatK.find((at) => at.k === k)?.value ?? null)),
          ]),
      ...(rows.some((row) => row.cost.usd > 0 || row.cost.unknownUnits > 0) ? [column("cost", 35, costCell)] : []),
      column("median time", 50, (row) => number(row.duration?.medianSec ?? null, durationText)),
    ],
    columns,
    style.dim,
  );
}

/** The table of the metrics that were asked for: a row for each group, and one for all when there are several. */
export function renderMetrics(summary: RunSummary, columns: number, style: Style): string[] {
  const { shape, metrics } = summary.run;
  if (metrics.length === 0 || summary.overall.scored === 0) return [];
  const rows = summary.groups.length > 1 ? [...summary.groups, summary.overall] : summary.groups;
  const nameOf = (row: GroupSummary): string =>
    row === summary.overall ? "all" : plainText(shape.groupBy.map((label) => row.labels[label] ?? "").join(" "));
  const valueOf = (row: GroupSummary, name: string): Cell =>
    toCell(
      number(row.metrics.find((metric) => metric.name === name)?.value ?? null, markText),
      row === summary.overall,
      style,
    );
  return renderTable(
    [
      {
        title: plainText(shape.markName),
        align: "left",
        cells: rows.map((row) => toCell(nameOf(row), row === summary.overall, style)),
        shrinkTo: 4,
      },
      ...metrics.map((name): Column => ({
        title: plainText(name),
        align: "right",
        cells: rows.map((row) => valueOf(row, name)),
      })),
    ],
    columns,
    style.dim,
  );
}

/** The table of times: a row for each phase, drawn to one scale. */
export function renderPhases(summary: RunSummary, columns: number, style: Style): string[] {
  const { phases, duration } = summary.overall;
  if (!duration || phases.length === 0) return [];
  const rows = [...phases, { ...duration, name: `whole ${summary.run.shape.unitNoun}` }];
  const longest = max(rows.map((row) => row.p95Sec)) ?? 0;
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
      { ...column("time", (row) => plainText(row.name).replaceAll("_", " ")), align: "left", shrinkTo: 4 },
      column("median", (row) => durationText(row.medianSec)),
      column("p95", (row) => durationText(row.p95Sec)),
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
  const { passRate, passRateInterval } = row.marks;
  if (passRate === null) return { text: "" };
  const { low, high } = passRateInterval ?? { low: passRate, high: passRate };
  return {
    text: intervalBar(low, high, passRate, cells, style),
    paint: (bar) => paintBar(bar, style, style.cyan),
  };
}

/** A bound is rounded plainly: unlike a rate it makes no claim to be exact. */
function boundText(rate: number): string {
  return `${Math.round(rate * 100)}%`;
}

function rangeText(interval: Interval | null, format: (value: number) => string, style: Style): string | null {
  if (!interval) return null;
  const low = format(interval.low);
  return `${low.endsWith("%") ? low.slice(0, -1) : low}${style.signs.dash}${format(interval.high)}`;
}

function scoredCell(row: GroupSummary, style: Style): Cell {
  const planned = row.planned ?? row.finished;
  const text = `${groupDigits(row.scored)} of ${groupDigits(planned)}`;
  return row.scored < planned - row.unmarked ? { text, paint: style.yellow } : { text };
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
