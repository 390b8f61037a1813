import { RolloutError } from "../base/rollout-error.ts";

/** One condition: `agent:claude*`, `reward<1`, `"free text"`; a leading `-` negates it. */
export type FilterTerm = { readonly isNegated: boolean } & (
  | { readonly kind: "field"; readonly name: string; readonly patterns: readonly string[] }
  | { readonly kind: "number"; readonly name: string; readonly operator: Operator; readonly value: number }
  | { readonly kind: "text"; readonly text: string }
);

/** A run or a unit matches when it meets every term. */
export type Filter = readonly FilterTerm[];

type Operator = "<" | "<=" | ">" | ">=" | "=" | "!=";

const operators: Readonly<Record<Operator, (left: number, right: number) => boolean>> = {
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "=": (left, right) => left === right,
  "!=": (left, right) => left !== right,
};

/** What a filter can ask of a run or a unit. */
export interface FilterSubject {
  /** The values of a field; empty if there is none of that name. */
  readonly field: (name: string) => readonly string[];
  readonly number: (name: string) => number | null;
  /** What free text is searched in, in lower case. */
  readonly text: () => string;
}

const termPattern = /\s*(-?)(?:"([^"]*)"|([\w.@/-]+?):("[^"]*"|\S+)|([\w.@/-]+?)(<=|>=|!=|<|>|=)(\S+)|(\S+))/y;

/** Parses a filter. Throws `usage_invalid` for a term that is not one. */
export function parseFilter(text: string): Filter {
  const terms: FilterTerm[] = [];
  termPattern.lastIndex = 0;
  while (text.slice(termPattern.lastIndex).trim() !== "") {
    const match = termPattern.exec(text);
    if (match === null) throw new RolloutError("usage_invalid", `the filter ${text} cannot be read`);
    terms.push(readTerm(match));
  }
  return terms;
}

function readTerm([
  whole,
  minus,
  quoted,
  name,
  pattern,
  numberName,
  operator,
  number,
  word,
]: RegExpExecArray): FilterTerm {
  const isNegated = minus === "-";
  if (name !== undefined && pattern !== undefined) {
    const patterns = pattern.startsWith('"') ? [pattern.slice(1, -1)] : pattern.split(",");
    return { kind: "field", isNegated, name: name.toLowerCase(), patterns: patterns.map((one) => one.toLowerCase()) };
  }
  if (numberName !== undefined && operator !== undefined) {
    const value = Number(number);
    if (number === "" || !Number.isFinite(value))
      throw new RolloutError(
        "usage_invalid",
        `filter term ${whole.trim()}: expected a number after ${operator}, got ${number}`,
      );
    return { kind: "number", isNegated, name: numberName, operator: operator as Operator, value };
  }
  return { kind: "text", isNegated, text: (quoted ?? word ?? "").toLowerCase() };
}

/** Returns whether a run or a unit meets every term of a filter. */
export function matchesFilter(filter: Filter, subject: FilterSubject): boolean {
  return filter.every((term) => meetsTerm(term, subject) !== term.isNegated);
}

function meetsTerm(term: FilterTerm, subject: FilterSubject): boolean {
  if (term.kind === "text") return subject.text().includes(term.text);
  if (term.kind === "number") {
    const value = subject.number(term.name);
    return value !== null && operators[term.operator](value, term.value);
  }
  // `error:timeout` finds `agent_execution_timeout`.
  const patterns = term.name === "error" ? term.patterns.map((pattern) => `*${pattern}*`) : term.patterns;
  const values = subject.field(term.name).map((value) => value.toLowerCase());
  return values.some((value) => patterns.some((pattern) => matchesGlob(value, pattern)));
}

/** Throws `usage_invalid` for a name that is not known. Fields and numbers are the known names. */
export function checkFilterNames(filter: Filter, fields: readonly string[], numbers: readonly string[]): void {
  for (const term of filter) {
    if (term.kind === "text") continue;
    const known = term.kind === "field" ? fields : numbers;
    if (known.some((name) => name === term.name || (term.kind === "field" && name.toLowerCase() === term.name)))
      continue;
    if (term.kind === "field" && term.name.startsWith("tag.") && fields.includes("tag.NAME")) continue;
    throw new RolloutError("usage_invalid", `the filter names "${term.name}", which is not known here`, {
      hint: `known names: ${known.filter((name) => name !== "").join(", ")}`,
    });
  }
}

const globs = new Map<string, RegExp>();
const maxGlobs = 1_000;

function matchesGlob(value: string, pattern: string): boolean {
  if (!pattern.includes("*")) return value === pattern;
  let glob = globs.get(pattern);
  if (glob === undefined) {
    const parts = pattern.split("*").map((part) => RegExp.escape(part));
    glob = new RegExp(`^${parts.join(".*")}$`, "s");
    // A filter is applied to every unit of a run, so its expressions are kept.
    if (globs.size === maxGlobs) globs.clear();
    globs.set(pattern, glob);
  }
  return glob.test(value);
}
