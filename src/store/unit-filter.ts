import { matchesFilter, type Filter } from "./filter.ts";
import { scoreOf, type UnitRow } from "./run.ts";

const fields: Readonly<Record<string, (row: UnitRow) => string>> = {
  key: ({ key }) => key,
  status: ({ status }) => status,
  error: ({ failure }) => failure?.type ?? "",
  cause: ({ failure }) => failure?.cause ?? "",
  phase: ({ failure }) => failure?.phase ?? "",
  untrusted: ({ isUntrusted }) => (isUntrusted ? "yes" : "no"),
};

const numbers: Readonly<Record<string, (row: UnitRow) => number | null>> = {
  cost: ({ spendUsd }) => spendUsd,
  duration: ({ durationSec }) => durationSec,
  tries: ({ tries }) => tries,
  warnings: ({ warningCount }) => warningCount,
  index: ({ index }) => index,
  tokens: ({ usage }) => (usage === null ? null : (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)),
};

/** Fields and numbers that every unit has; a run adds its labels and scores. */
export const unitFieldNames: readonly string[] = Object.keys(fields);
export const unitNumberNames: readonly string[] = Object.keys(numbers);

/** Returns whether a unit meets every term of a filter. */
export function matchesUnit(filter: Filter, row: UnitRow): boolean {
  return matchesFilter(filter, {
    field: (name) => fieldOf(row, name),
    number: (name) => numberOf(row, name),
    text: () => textOf(row),
  });
}

function textOf({ key, labels, failure }: UnitRow): string {
  return [key, ...Object.values(labels), failure?.fingerprint ?? ""].join("\n").toLowerCase();
}

function fieldOf(row: UnitRow, name: string): readonly string[] {
  if (fields[name] !== undefined) return [fields[name](row)];
  // Names of fields are lower case in a parsed filter, those of labels may not be.
  const value = row.labels[name] ?? Object.entries(row.labels).find(([label]) => label.toLowerCase() === name)?.[1];
  return value === undefined ? [] : [value];
}

function numberOf(row: UnitRow, name: string): number | null {
  return (
    numbers[name]?.(row) ?? scoreOf(row, name) ?? (row.labels[name] === undefined ? null : Number(row.labels[name]))
  );
}
