import type { Json } from "../base/json.ts";
import { plainText } from "../base/terminal-text.ts";
import type { Unit } from "../store/run.ts";

/** The columns of an export, in order: labels and scores as the run has them. */
export interface CsvColumns {
  readonly labels: readonly string[];
  readonly scores: readonly string[];
}

const facts: readonly (readonly [title: string, value: (unit: Unit) => Cell])[] = [
  ["index", ({ index }) => index],
  ["key", ({ key }) => key],
  ["status", ({ status }) => status],
  ["error_type", ({ failure }) => failure?.type],
  ["error_cause", ({ failure }) => failure?.cause],
  ["error_phase", ({ failure }) => failure?.phase],
  ["error_message", ({ failure }) => failure?.message],
  ["started_at", ({ startedAt }) => new Date(startedAt).toISOString()],
  ["duration_sec", ({ durationSec }) => durationSec],
  ["spend_usd", ({ spendUsd }) => spendUsd],
  ["input_tokens", ({ usage }) => usage?.inputTokens],
  ["output_tokens", ({ usage }) => usage?.outputTokens],
  ["tries", ({ tries }) => tries],
  ["untrusted", ({ untrusted }) => untrusted.join("; ")],
  ["warnings", ({ warnings }) => warnings.join("; ")],
  ["input", ({ input }) => jsonText(input)],
  ["expected", ({ expected }) => jsonText(expected)],
  ["output", ({ output }) => jsonText(output)],
];

type Cell = string | number | null | undefined;

/** Returns the heading line of an export. */
export function csvHeading({ labels, scores }: CsvColumns): string {
  return line([
    ...facts.map(([title]) => title),
    ...labels.map((name) => `label.${name}`),
    ...scores.map((name) => `score.${name}`),
  ]);
}

/** Returns the line of a unit. */
export function csvLine(unit: Unit, { labels, scores }: CsvColumns): string {
  return line([
    ...facts.map(([, value]) => value(unit)),
    ...labels.map((name) => unit.labels[name]),
    ...scores.map((name) => unit.scores.find((score) => score.name === name)?.value),
  ]);
}

function line(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(",")}\r\n`;
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return String(cell);
  // Text of agents and targets must not drive a terminal. JSON lines have it unchanged.
  const plain = cell.split("\n").map(plainText).join("\n");
  // A spreadsheet runs a text that starts like this as a formula.
  const text = /^[=+\-@]/.test(plain.trimStart()) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function jsonText(value: Json | undefined): string | undefined {
  return value === undefined || typeof value === "string" ? value : JSON.stringify(value);
}
