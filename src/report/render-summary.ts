import { fitMiddle, fitWidth, plainText } from "../base/terminal-text.ts";
import type { RunTail } from "../store/run.ts";
import { costText, countText, durationText, groupDigits } from "./number-text.ts";
import { createStyle, type Style, type StyleOptions } from "./style.ts";
import type { FailureSummary, RunSummary, WarningSummary } from "./summarize-tally.ts";
import { renderMetrics, renderPhases, renderResults } from "./summary-tables.ts";
import { joinParts, wrapText, type Cell } from "./text-table.ts";

export interface RenderSummaryOptions extends StyleOptions {
  readonly columns: number;
}

const mostFailures = 10;
const mostWarnings = 5;

/** What a person reads at the end of a run, fitted to a terminal; ends with a line end. */
export function renderSummary(summary: RunSummary, tail: RunTail, options: RenderSummaryOptions): string {
  const style = createStyle(options);
  const columns = Math.max(20, options.columns);
  const marked = summary.overall.scored + summary.overall.failed > 0;
  const sections = [
    renderHeading(summary, tail, columns, style),
    marked ? renderResults(summary, columns, style) : [],
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
  const end = {
    completed: { text: `completed in ${durationText(tail.durationSec)}` },
    cancelled: { text: `cancelled after ${durationText(tail.durationSec)}`, paint: style.yellow },
    unfinished: { text: `not finished, ${durationText(tail.durationSec)} so far`, paint: style.yellow },
    budget_exhausted: { text: `stopped by its budget after ${durationText(tail.durationSec)}`, paint: style.yellow },
  }[tail.status];
  const first: Cell[] = [{ text: plainText(run.name), paint: style.bold }, end, ...costParts(summary)];
  const noun = run.shape.unitNoun;
  if (run.total === 0 && overall.finished === 0) {
    return [...joinParts(first, separator, columns), `no ${noun}s to run`];
  }
  const count = (number: number, word: string, paint?: (text: string) => string): Cell[] =>
    number > 0 ? [{ text: `${groupDigits(number)} ${word}`, paint }] : [];
  const planned = overall.planned ?? overall.finished;
  const whole = overall.scored === planned ? "" : ` of ${groupDigits(planned)}`;
  const second: Cell[] = [
    { text: `${groupDigits(overall.scored)}${whole} ${noun}${planned === 1 ? "" : "s"} scored` },
    ...count(overall.marks.passed, "passed", style.green),
    ...count(overall.scored - overall.marks.passed, "not passed"),
    ...count(overall.failed, "failed", style.red),
    ...count(overall.skipped ?? 0, "skipped", style.yellow),
    ...count(overall.unmarked, "finished without a mark"),
    ...(overall.retries.units > 0 ? [{ text: `${countText(overall.retries.units, noun)} retried` }] : []),
  ];
  return [...joinParts(first, separator, columns), ...joinParts(second, separator, columns)];
}

function costParts({ overall, run }: RunSummary): Cell[] {
  const { usd, unknownUnits } = overall.cost;
  const known = usd > 0 ? [{ text: costText(usd) }] : [];
  const unknown = { text: `cost of ${countText(unknownUnits, run.shape.unitNoun)} unknown` };
  return unknownUnits > 0 ? [...known, unknown] : known;
}

function renderFailures(summary: RunSummary, columns: number, style: Style): string[] {
  const { failures } = summary.overall;
  if (failures.length === 0) return [];
  const shown = failures.slice(0, mostFailures);
  const width = groupDigits(shown[0]?.count ?? 0).length;
  const hidden = failures.length - shown.length;
  return [
    style.dim("failures"),
    ...shown.flatMap((failure) => renderFailure(failure, width, summary, columns, style)),
    ...(hidden > 0 ? [style.dim(`  + ${countText(hidden, "more type")}`)] : []),
  ];
}

function renderFailure(
  failure: FailureSummary,
  width: number,
  { run, groups }: RunSummary,
  columns: number,
  style: Style,
): string[] {
  const kept = failure.scored > 0 ? `${countText(failure.scored, run.shape.unitNoun)} scored all the same` : null;
  const rows = groups.flatMap(({ labels, failures }) => {
    const own = failures.find(({ type }) => type === failure.type);
    return own ? [`${run.shape.groupBy.map((label) => labels[label] ?? "").join(" ")} ${groupDigits(own.count)}`] : [];
  });
  const where = groups.length > 1 ? plainText(rows.join(", ")) : null;
  const details = [plainText(failure.firstMessage), where, kept].filter((detail) => detail !== null);
  const title = { text: plainText(failure.type), paint: style.red };
  return renderEntry(failure.count, width, title, details, failure.examples[0] ?? null, columns, style);
}

function renderWarnings({ warnings, otherWarnings }: RunSummary, columns: number, style: Style): string[] {
  if (warnings.length === 0) return [];
  const shown = warnings.slice(0, mostWarnings);
  const width = groupDigits(shown[0]?.count ?? 0).length;
  const hidden = warnings.slice(mostWarnings).reduce((total, { count }) => total + count, otherWarnings);
  return [
    style.dim("warnings"),
    ...shown.flatMap((warning) => renderWarning(warning, width, columns, style)),
    ...(hidden > 0 ? [style.dim(`  + ${countText(hidden, "more warning")}`)] : []),
  ];
}

function renderWarning(warning: WarningSummary, width: number, columns: number, style: Style): string[] {
  const [first = "", ...rest] = wrapText(plainText(warning.text), columns - width - 4, 2);
  const title = { text: first, paint: style.yellow };
  return renderEntry(warning.count, width, title, [rest.join(" ")], warning.example, columns, style);
}

function renderEntry(
  count: number,
  width: number,
  title: Cell,
  details: readonly string[],
  example: string | null,
  columns: number,
  style: Style,
): string[] {
  const room = columns - width - 4;
  const indent = " ".repeat(width + 4);
  const number = style.bold(groupDigits(count).padStart(width));
  const lines = details.flatMap((detail) => wrapText(detail, room, 2)).map((line) => indent + line);
  const pointer = example === null ? [] : [indent + style.dim(fitMiddle(`e.g. ${plainText(example)}`, room))];
  return [`  ${number}  ${renderTitle(title, room)}`, ...lines, ...pointer];
}

function renderTitle({ text, paint }: Cell, room: number): string {
  const fitted = fitWidth(text, room);
  return paint ? paint(fitted) : fitted;
}

/** Paths and commands are never cut: they are there to be copied. */
function renderFooter({ run }: RunSummary, tail: RunTail, style: Style): string[] {
  return [
    ...(run.location === "" ? [] : [`${style.dim("results")}  ${plainText(run.location)}`]),
    ...tail.next.map((command, index) => `${style.dim(index === 0 ? "next   " : "       ")}  ${plainText(command)}`),
  ];
}
