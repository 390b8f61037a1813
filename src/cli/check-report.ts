import { shellWord, shownPath } from "../base/shown-path.ts";
import { fitMiddle, plainText } from "../base/terminal-text.ts";
import { findingKinds, type AttemptCount, type FindingKind, type TaskVerdict } from "../jobs/check/task-verdict.ts";
import { countText, groupDigits } from "../report/number-text.ts";
import { createStyle, type Style, type StyleOptions } from "../report/style.ts";
import { joinParts, renderTable, wrapText, type Cell } from "../report/text-table.ts";

/** What a check has to tell at its end. */
export interface CheckReport {
  readonly jobDir: string;
  /** Where the attempts without a network lie; null when there were none. */
  readonly offlineJobDir: string | null;
  /** Why nobody looked whether the tests need the network; null when somebody did. */
  readonly networkNotLookedAt: string | null;
  readonly attempts: number;
  /** Worst first. */
  readonly verdicts: readonly TaskVerdict[];
}

export interface RenderCheckOptions extends StyleOptions {
  readonly columns: number;
  readonly cwd: string;
}

const kindTexts: Readonly<Record<FindingKind, string>> = {
  broken: "broken",
  oracle_fails: "oracle fails",
  passes_untouched: "passes untouched",
  flaky: "flaky",
  needs_network: "needs the network",
  not_judged: "not judged",
};

// Tasks that are right are worth a row each only while they are few.
const mostOk = 20;
const mostWarnings = 5;

/** What a person reads at the end of a check, fitted to a terminal; ends with a line end. */
export function renderCheck(report: CheckReport, options: RenderCheckOptions): string {
  const style = createStyle(options);
  const columns = Math.max(20, options.columns);
  const names = namesOf(report.verdicts);
  const sections = [
    renderVerdicts(report, names, columns, style),
    ...report.verdicts.map((verdict) => renderDetails(verdict, names, { ...options, columns }, style)),
    renderCounts(report, columns, style),
    renderFooter(report, options.cwd, style),
  ];
  const text = sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
  return `${style.finish(text)}\n`;
}

type Names = (verdict: TaskVerdict) => string;

function namesOf(verdicts: readonly TaskVerdict[]): Names {
  const isOne = new Set(verdicts.map(({ datasetName }) => datasetName)).size === 1;
  return ({ datasetName, taskName }) => plainText(isOne ? taskName : `${datasetName}/${taskName}`);
}

function renderVerdicts({ verdicts }: CheckReport, names: Names, columns: number, style: Style): string[] {
  const wrong = verdicts.filter(({ verdict }) => verdict !== "ok");
  const shown = verdicts.slice(0, wrong.length + mostOk);
  const hidden = verdicts.length - shown.length;
  const table = renderTable(
    [
      { title: "task", align: "left", cutTo: 24, shrinkTo: 8, cells: shown.map((each) => ({ text: names(each) })) },
      { title: "oracle", align: "right", drop: 1, cells: shown.map(({ oracle }) => countCell(oracle, style)) },
      { title: "nop", align: "right", drop: 1, cells: shown.map(({ nop }) => countCell(nop, style)) },
      { title: "verdict", align: "left", shrinkTo: 8, cells: shown.map((each) => verdictCell(each, style)) },
    ],
    columns,
    style.dim,
  );
  return [
    ...table,
    ...(hidden > 0 ? [style.dim(`+ ${countText(hidden, "more task")} that ${areOrIs(hidden)} ok`)] : []),
  ];
}

function countCell({ judged, passed }: AttemptCount, style: Style): Cell {
  return judged === 0
    ? { text: style.signs.dash, paint: style.dim }
    : { text: `${groupDigits(passed)} of ${groupDigits(judged)}` };
}

function verdictCell({ verdict, findings }: TaskVerdict, style: Style): Cell {
  if (verdict === "ok") return { text: "ok", paint: style.green };
  const text = findings.map(({ title }) => title).join(", ");
  return { text, paint: verdict === "not_judged" ? style.yellow : style.red };
}

function renderDetails(
  verdict: TaskVerdict,
  names: Names,
  { columns, cwd }: RenderCheckOptions,
  style: Style,
): string[] {
  const { findings, warnings } = verdict;
  if (findings.length === 0 && warnings.length === 0) return [];
  const wrapped = (text: string, paint: (line: string) => string): string[] =>
    wrapText(plainText(text), columns - 2, 4).map((line) => `  ${paint(line)}`);
  const hidden = warnings.length - mostWarnings;
  return [
    style.bold(fitMiddle(names(verdict), columns)),
    ...findings.flatMap(({ title, message, trialDir }) => [
      ...wrapped(`${title}: ${message}`, (line) => line),
      ...(trialDir === null ? [] : [`  ${style.dim(showCommand(trialDir, cwd))}`]),
    ]),
    ...warnings.slice(0, mostWarnings).flatMap((warning) => wrapped(`warning: ${warning}`, style.yellow)),
    ...(hidden > 0 ? [style.dim(`  + ${countText(hidden, "more warning")}`)] : []),
  ];
}

function renderCounts(report: CheckReport, columns: number, style: Style): string[] {
  const { verdicts, attempts, networkNotLookedAt } = report;
  const kinds = ["ok", ...findingKinds] as const;
  const parts = kinds.flatMap((kind): Cell[] => {
    const count = verdicts.filter(({ verdict }) => verdict === kind).length;
    if (count === 0) return [];
    const text = `${groupDigits(count)} ${kind === "ok" ? "ok" : kindTexts[kind]}`;
    return [{ text, paint: kind === "ok" ? style.green : kind === "not_judged" ? style.yellow : style.red }];
  });
  const head = `${countText(verdicts.length, "task")} checked, ${countText(attempts, "attempt")} of each agent`;
  const network =
    networkNotLookedAt === null ? "" : `whether tests need the network was not looked at: ${networkNotLookedAt}`;
  return [
    ...joinParts([{ text: head, paint: style.bold }, ...parts], style.signs.separator, columns),
    ...wrapText(plainText(network), columns, 4),
  ];
}

/** Paths and commands are never cut: they are there to be copied. */
function renderFooter({ jobDir, offlineJobDir, verdicts }: CheckReport, cwd: string, style: Style): string[] {
  const dirs = [jobDir, ...(offlineJobDir === null ? [] : [offlineJobDir])];
  const worst = verdicts.flatMap(({ findings }) => findings).find(({ trialDir }) => trialDir !== null)?.trialDir;
  const next = [...(worst === undefined || worst === null ? [] : [worst]), jobDir];
  return [
    ...dirs.map((dir, index) => `${style.dim(index === 0 ? "results" : "       ")}  ${plainText(shownPath(dir, cwd))}`),
    ...next.map((dir, index) => `${style.dim(index === 0 ? "next   " : "       ")}  ${showCommand(dir, cwd)}`),
  ];
}

function showCommand(dir: string, cwd: string): string {
  return plainText(`rollout show ${shellWord(shownPath(dir, cwd))}`);
}

function areOrIs(count: number): string {
  return count === 1 ? "is" : "are";
}
