import { plainText } from "../base/terminal-text.ts";
import { durationSecOf, type RunShape, type RunStatus } from "../store/run.ts";
import { costText, countText, durationText, groupDigits } from "./number-text.ts";
import { paramsText } from "./params-text.ts";
import { renderFailures } from "./render-failures.ts";
import { createStyle, type Style, type StyleOptions } from "./style.ts";
import type { RunSummary, WarningSummary } from "./summarize-tally.ts";
import { renderEntry } from "./summary-entry.ts";
import {
  excludedText,
  isMarked,
  renderMarks,
  renderMetrics,
  renderPhases,
  renderResults,
  renderRunScores,
} from "./summary-tables.ts";
import { joinParts, wrapText, type Cell } from "./text-table.ts";

export interface RenderSummaryOptions extends StyleOptions {
  readonly columns: number;
}

const mostWarnings = 5;
const mostNoteLines = 4;
const mostLabels = 8;

/** Returns the summary of a run for a terminal. It ends with a line end. */
export function renderSummary(summary: RunSummary, next: readonly string[], options: RenderSummaryOptions): string {
  const style = createStyle(options);
  const columns = Math.max(20, options.columns);
  const sections = [
    [...renderHeading(summary, columns, style), ...renderNotes(summary, columns, style)],
    renderResults(summary, columns, style),
    renderMarks(summary, columns, style),
    renderLabels(summary, columns, style),
    renderRunScores(summary.run.scores, columns, style),
    renderMetrics(summary, columns, style),
    renderPhases(summary, columns, style),
    renderFailures(summary, columns, style),
    renderWarnings(summary, columns, style),
    renderFooter(summary, next, style),
  ];
  const text = sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
  return `${style.finish(text)}\n`;
}

function renderHeading(summary: RunSummary, columns: number, style: Style): string[] {
  const { overall, run } = summary;
  const { separator } = style.signs;
  const end = statusCell(summary, style);
  const first: Cell[] = [{ text: plainText(run.name), paint: style.bold }, end, ...costParts(summary)];
  const noun = run.shape.unitNoun;
  if (run.plan.total === 0 && overall.finished === 0) {
    return [...joinParts(first, separator, columns), `no ${noun}s to run`];
  }
  const count = (number: number, word: string, paint?: (text: string) => string): Cell[] =>
    number > 0 ? [{ text: `${groupDigits(number)} ${word}`, paint }] : [];
  const planned = overall.planned ?? overall.finished;
  const isWhole = overall.finished === planned;
  const { itemCount } = run.shape;
  const ofItems = itemCount === undefined ? "" : ` of ${countText(itemCount, run.shape.itemLabel)}`;
  const second: Cell[] = [
    {
      text: isWhole
        ? `${countText(planned, noun)}${ofItems}`
        : `${groupDigits(overall.finished)} of ${countText(planned, noun)}${ofItems} finished`,
    },
    ...outcomeParts(summary, style),
    ...count(overall.skipped ?? 0, isOpen(run.status) ? "not finished" : "skipped", style.yellow),
    ...count(overall.unmarked, unmarkedText(run.shape)),
    ...count(overall.untrusted, "untrusted", style.red),
    ...(overall.retries.units > 0 ? [{ text: `${countText(overall.retries.units, noun)} retried` }] : []),
  ];
  return [...joinParts(first, separator, columns), ...joinParts(second, separator, columns)];
}

/** Returns the state of the run and its duration. */
function statusCell({ run, overall }: RunSummary, style: Style): Cell {
  const { length } = run.sessions;
  const duration = `${durationText(durationSecOf(run))}${length > 1 ? ` over ${length} sessions` : ""}`;
  const yellow = (text: string): Cell => ({ text, paint: style.yellow });
  const red = (text: string): Cell => ({ text, paint: style.red });
  switch (run.status) {
    case "completed":
      return hasOnlyFailures(run, overall) ? red(`failed after ${duration}`) : { text: `completed in ${duration}` };
    case "cancelled":
      return yellow(`cancelled after ${duration}`);
    case "budget_exhausted":
      return yellow(`stopped by its budget after ${duration}`);
    case "failed":
      return red(`failed after ${duration}`);
    case "interrupted":
      return yellow(`interrupted after ${duration}`);
    case "running":
    case "paused":
      return yellow(`${run.status}, ${duration} so far`);
    default:
      return run.status satisfies never;
  }
}

/** Failed trials are results of a job. A dataset run or an experiment with nothing but failures did not work. */
function hasOnlyFailures({ kind }: RunSummary["run"], { failures, finished }: RunSummary["overall"]): boolean {
  const failed = failures.reduce((total, { count }) => total + count, 0);
  return kind !== "job" && failed > 0 && failed === finished;
}

function isOpen(status: RunStatus): boolean {
  return status === "running" || status === "paused" || status === "interrupted" || status === "failed";
}

/** The numbers of units that passed, did not pass and are left out; together all that finished. */
function outcomeParts({ overall, run }: RunSummary, style: Style): Cell[] {
  const { headline } = overall.marks;
  const left = overall.excluded.reduce((total, { count }) => total + count, 0);
  const failed = overall.failed - left;
  const failedPart = { text: `${groupDigits(failed)} failed`, paint: style.red };
  const excluded = { text: `${groupDigits(left)} not counted: ${excludedText(overall.excluded)}`, paint: style.yellow };
  const notCounted = left > 0 ? [excluded] : [];
  if (!isMarked(overall, run.shape)) return [...(failed > 0 ? [failedPart] : []), ...notCounted];
  const notPassed = headline.counted - headline.passed;
  return [
    { text: `${groupDigits(headline.passed)} passed`, paint: style.green },
    { text: `${groupDigits(notPassed)} not passed${failed > 0 ? ` (${groupDigits(failed)} failed)` : ""}` },
    ...notCounted,
  ].filter(({ text }) => !text.startsWith("0 "));
}

// A unit can have other scores.
function unmarkedText({ scoreName, otherScores = [] }: RunShape): string {
  return `finished without a score${otherScores.length > 0 ? ` of ${plainText(scoreName)}` : ""}`;
}

/** The description, tags, parameters and notes of the run. */
function renderNotes({ run }: RunSummary, columns: number, style: Style): string[] {
  const params = paramsText(run.params);
  const tags = paramsText(run.tags);
  const lines = [
    ...(run.description === null ? [] : [plainText(run.description.replaceAll(/\s+/g, " "))]),
    ...(tags === "" ? [] : [`tags ${tags}`]),
    ...(params === "" ? [] : [`params ${params}`]),
    ...run.notes.map(plainText),
  ];
  return lines.flatMap((line) => wrapText(line, columns, mostNoteLines)).map(style.dim);
}

/** Counts of labels, a line for each score that has any. */
function renderLabels({ labels }: RunSummary, columns: number, style: Style): string[] {
  return labels.flatMap(({ mark, counts }) => {
    const shown = counts.slice(0, mostLabels).map(([label, count]) => `${plainText(label)} ${groupDigits(count)}`);
    const rest = counts.length > mostLabels ? [`+ ${countText(counts.length - mostLabels, "more label")}`] : [];
    const [first = "", ...more] = wrapText(`${plainText(mark)}: ${[...shown, ...rest].join(", ")}`, columns - 8, 3);
    return [`${style.dim("labels")}  ${first}`, ...more.map((line) => `        ${line}`)];
  });
}

function costParts({ overall, run }: RunSummary): Cell[] {
  const { usd, unknownUnits } = overall.cost;
  const known = usd > 0 ? [{ text: costText(usd) }] : [];
  if (usd === 0 && run.shape.showsCost === false) return known;
  const unknown = { text: `cost of ${countText(unknownUnits, run.shape.unitNoun)} unknown` };
  return unknownUnits > 0 ? [...known, unknown] : known;
}

function renderWarnings({ warnings, otherWarnings }: RunSummary, columns: number, style: Style): string[] {
  if (warnings.length === 0) return [];
  const shown = warnings.slice(0, mostWarnings);
  const width = groupDigits(shown[0]?.count ?? 0).length;
  const hidden = warnings.slice(mostWarnings).reduce((total, { count }) => total + count, otherWarnings);
  const kinds = warnings.length - shown.length;
  // Warnings after too many different ones are counted without their text.
  const ofKinds = otherWarnings === 0 && kinds < hidden ? ` of ${countText(kinds, "kind")}` : "";
  return [
    style.dim("warnings"),
    ...shown.flatMap((warning) => renderWarning(warning, width, columns, style)),
    ...(hidden > 0 ? [style.dim(`  + ${countText(hidden, "more warning")}${ofKinds}`)] : []),
  ];
}

function renderWarning(warning: WarningSummary, width: number, columns: number, style: Style): string[] {
  const [first = "", ...rest] = wrapText(plainText(warning.text), columns - width - 4, 2);
  const title = { text: first, paint: style.yellow };
  const lines = wrapText(rest.join(" "), columns - width - 4, 2);
  return renderEntry({ count: warning.count, title, lines, example: warning.example }, { width, columns, style });
}

/** Paths and commands are never cut: users copy them. */
function renderFooter({ run }: RunSummary, next: readonly string[], style: Style): string[] {
  return [
    ...(run.location === "" ? [] : [`${style.dim("results")}  ${plainText(run.location)}`]),
    ...next.map((command, index) => `${style.dim(index === 0 ? "next   " : "       ")}  ${plainText(command)}`),
  ];
}
