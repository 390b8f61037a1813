import { isDeepStrictEqual } from "node:util";
import { plainText } from "../../base/terminal-text.ts";
import type {
  ChangedExample,
  EvaluatorComparison,
  ExperimentComparison,
} from "../../experiments/compare/compare-experiments.ts";
import { readPlan } from "../../experiments/output/plan-experiment.ts";
import { countText, groupDigits, markText } from "../../report/number-text.ts";
import { renderTable, wrapText, type Column } from "../../report/text-table.ts";
import type { Run } from "../../store/run.ts";
import type { Terminal } from "../terminal.ts";

const mostShown = 10;

/** Two experiments side by side for people: which is which, a row for each evaluator, and what changed most. */
export function renderComparison(
  before: Run,
  after: Run,
  comparison: ExperimentComparison,
  terminal: Pick<Terminal, "columns">,
): string {
  const columns = Math.max(40, terminal.columns());
  const sections = [
    [plainText(`before  ${before.id}`), plainText(`after   ${after.id}`), ...paramLines(before, after)],
    pairLines(comparison, columns),
    comparison.evaluators.length === 0 ? [] : renderTable(columnsOf(comparison.evaluators), columns),
    comparison.evaluators.flatMap((one) => changeLines(one, columns)),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n`;
}

function paramLines(before: Run, after: Run): string[] {
  const [was, is] = [readPlan(before).params, readPlan(after).params];
  const names = new Set([...Object.keys(was), ...Object.keys(is)]);
  const differing = [...names].filter((name) => !isDeepStrictEqual(was[name], is[name]));
  return differing.map((name) => plainText(`param   ${name}: ${valueText(was[name])} -> ${valueText(is[name])}`));
}

function valueText(value: unknown): string {
  return value === undefined ? "not set" : JSON.stringify(value);
}

function pairLines(comparison: ExperimentComparison, columns: number): string[] {
  const { paired, onlyBefore, onlyAfter, otherInput, failedBefore, failedAfter, lone, evaluators } = comparison;
  const left = [
    onlyBefore > 0 ? `${groupDigits(onlyBefore)} only before` : "",
    onlyAfter > 0 ? `${groupDigits(onlyAfter)} only after` : "",
    otherInput > 0 ? `${groupDigits(otherInput)} with another input` : "",
  ].filter((text) => text !== "");
  const lines = [
    `${countText(paired, "example")} in both${left.length === 0 ? "" : `; left out: ${left.join(", ")}`}`,
    ...(failedBefore + failedAfter === 0
      ? []
      : [`runs that failed: ${groupDigits(failedBefore)} before, ${groupDigits(failedAfter)} after`]),
    ...(lone.length === 0 ? [] : [`marked one of them alone: ${lone.map(plainText).join(", ")}`]),
    ...(evaluators.length === 0 ? ["no evaluator marked both"] : []),
  ];
  return lines.flatMap((line) => wrapText(line, columns, 4));
}

function columnsOf(rows: readonly EvaluatorComparison[]): Column[] {
  const column = (title: string, text: (row: EvaluatorComparison) => string): Column => ({
    title,
    align: "right",
    cells: rows.map((row) => ({ text: text(row) })),
  });
  return [
    { ...column("evaluator", ({ evaluator }) => plainText(evaluator)), align: "left", cutTo: 32, shrinkTo: 4 },
    column("before", ({ meanBefore }) => number(meanBefore)),
    column("after", ({ meanAfter }) => number(meanAfter)),
    column("difference", ({ difference }) => signed(difference)),
    column("95% CI", ({ interval }) =>
      interval === null ? "-" : `${signed(interval.low)} to ${signed(interval.high)}`,
    ),
    column("better", ({ better }) => groupDigits(better.length)),
    column("worse", ({ worse }) => groupDigits(worse.length)),
    { ...column("same", ({ same }) => groupDigits(same)), drop: 2 },
    { ...column("no score", ({ missing }) => groupDigits(missing)), drop: 1 },
  ];
}

function changeLines({ evaluator, better, worse }: EvaluatorComparison, columns: number): string[] {
  const list = (word: string, examples: readonly ChangedExample[]): string[] => {
    if (examples.length === 0) return [];
    const shown = examples.slice(0, mostShown).map(changeText);
    const rest = examples.length > mostShown ? [`+ ${groupDigits(examples.length - mostShown)} more`] : [];
    return wrapText(`${plainText(evaluator)} ${word}: ${[...shown, ...rest].join(", ")}`, columns, 6);
  };
  return [...list("worse", worse), ...list("better", better)];
}

function changeText({ exampleId, before, after }: ChangedExample): string {
  return `${plainText(exampleId)} ${markText(before)} -> ${markText(after)}`;
}

function number(value: number | null): string {
  return value === null ? "-" : markText(value);
}

function signed(value: number | null): string {
  return value === null ? "-" : `${value > 0 ? "+" : ""}${markText(value)}`;
}
