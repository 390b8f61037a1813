import { plainText } from "../base/terminal-text.ts";
import type { RunShape, RunTail } from "../store/run.ts";
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
  renderWholeMarks,
} from "./summary-tables.ts";
import { joinParts, wrapText, type Cell } from "./text-table.ts";

export interface RenderSummaryOptions extends StyleOptions {
  readonly columns: number;
}

const mostWarnings = 5;
const mostNoteLines = 4;
const mostLabels = 8;

/** What a person reads at the end of a run, fitted to a terminal; ends with a line end. */
export function renderSummary(summary: RunSummary, tail: RunTail, options: RenderSummaryOptions): string {
  const style = createStyle(options);
  const columns = Math.max(20, options.columns);
  const sections = [
    [...renderHeading(summary, tail, columns, style), ...renderNotes(summary, tail, columns, style)],
    renderResults(summary, columns, style),
    renderMarks(summary, columns, style),
    renderLabels(summary, columns, style),
    renderWholeMarks(tail.wholeMarks ?? [], columns, style),
    renderMetrics(summary, columns, style),
    renderPhases(summary, columns, style),
    renderFailures(summary, columns, style),
    renderWarnings(summary, columns, style),
    renderFooter(summary, tail, style),
  ];
  const text = sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
  return `${style.finish(text)}\n`;
}

function renderHeading(summary: RunSummary, tail: RunTail, columns: number, style: Style): string[] {
  const { overall, run } = summary;
  const { separator } = style.signs;
  const duration = `${durationText(tail.durationSec)}${tail.sessions > 1 ? ` over ${tail.sessions} sessions` : ""}`;
  const end = {
    completed: tail.hasFailed
      ? { text: `failed after ${duration}`, paint: style.red }
      : { text: `completed in ${duration}` },
    cancelled: { text: `cancelled after ${duration}`, paint: style.yellow },
    unfinished: { text: `not finished, ${duration} so far`, paint: style.yellow },
    budget_exhausted: { text: `stopped by its budget after ${duration}`, paint: style.yellow },
  }[tail.status];
  const first: Cell[] = [{ text: plainText(run.name), paint: style.bold }, end, ...costParts(summary)];
  const noun = run.shape.unitNoun;
  if (run.total === 0 && overall.finished === 0) {
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
    ...count(overall.skipped ?? 0, tail.status === "unfinished" ? "not finished" : "skipped", style.yellow),
    ...count(overall.unmarked, unmarkedText(run.shape)),
    ...count(overall.untrusted, "untrusted", style.red),
    ...(overall.retries.units > 0 ? [{ text: `${countText(overall.retries.units, noun)} retried` }] : []),
  ];
  return [...joinParts(first, separator, columns), ...joinParts(second, separator, columns)];
}

/** How many units passed, how many did not, and how many are left out, which add up to what has finished. */
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

// Where there are several marks, the others may well be there.
function unmarkedText({ markName, otherMarks = [] }: RunShape): string {
  return `finished without a mark${otherMarks.length > 0 ? ` of ${plainText(markName)}` : ""}`;
}

/** What it was given, and what else is to be known of it. */
function renderNotes({ run }: RunSummary, { notes = [] }: RunTail, columns: number, style: Style): string[] {
  const params = paramsText(run.params);
  const lines = [...(params === "" ? [] : [`params ${params}`]), ...notes.map(plainText)];
  return lines.flatMap((line) => wrapText(line, columns, mostNoteLines)).map(style.dim);
}

/** How often each label was given, a line for each mark that has any. */
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
  if (usd === 0 && run.shape.tellsCost === false) return known;
  const unknown = { text: `cost of ${countText(unknownUnits, run.shape.unitNoun)} unknown` };
  return unknownUnits > 0 ? [...known, unknown] : known;
}

function renderWarnings({ warnings, otherWarnings }: RunSummary, columns: number, style: Style): string[] {
  if (warnings.length === 0) return [];
  const shown = warnings.slice(0, mostWarnings);
  const width = groupDigits(shown[0]?.count ?? 0).length;
  const hidden = warnings.slice(mostWarnings).reduce((total, { count }) => total + count, otherWarnings);
  const kinds = warnings.length - shown.length;
  // Those that came after too many different ones are counted alone.
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

/** Paths and commands are never cut: they are there to be copied. */
function renderFooter({ run }: RunSummary, tail: RunTail, style: Style): string[] {
  return [
    ...(run.location === "" ? [] : [`${style.dim("results")}  ${plainText(run.location)}`]),
    ...tail.next.map((command, index) => `${style.dim(index === 0 ? "next   " : "       ")}  ${plainText(command)}`),
  ];
}
