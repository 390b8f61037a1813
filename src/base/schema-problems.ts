import { inspect } from "node:util";
import type { z } from "zod";
import { comparePlaces, formatPath, type Problem } from "./problem.ts";
import { knownKeysAt } from "./schema-shape.ts";
import { describeUnknown, suggest } from "./suggest.ts";

type Path = readonly (string | number)[];

const mostNamedKeys = 4;

/** Says where a key stands in what a person wrote. */
export type PlaceOf = (path: Path, of: "key" | "value") => Pick<Problem, "file" | "line" | "column">;

/** Everything Zod found, in the words of a person who looks at the file; parse with `reportInput`. */
export function schemaProblems(error: z.ZodError, schema: z.ZodType, placeOf: PlaceOf): Problem[] {
  const problems = error.issues.flatMap((issue) => issueProblems(issue, schema, placeOf));
  // Zod also measures the length of what is no text at all; the first word about a key is the one that counts.
  const seen = new Set<string | undefined>();
  return problems.filter(({ path }) => !seen.has(path) && seen.add(path)).sort(comparePlaces);
}

function issueProblems(issue: z.core.$ZodIssue, schema: z.ZodType, placeOf: PlaceOf): Problem[] {
  return describeSchemaIssue(issue, schema).map(({ path, of, message }) => {
    return { ...placeOf(path, of), path: formatPath(path), message, severity: "error" };
  });
}

/** One thing that is wrong with a value, and at what it is seen. */
export interface DescribedIssue {
  readonly path: (string | number)[];
  readonly of: "key" | "value";
  readonly message: string;
}

/** What Zod found at one place, in the words of a person; it must carry its `input`. */
export function describeSchemaIssue(issue: z.core.$ZodIssue, schema: unknown): DescribedIssue[] {
  const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
  if (issue.code === "unrecognized_keys") {
    const known = knownKeysAt(schema, path);
    return issue.keys.map((key) => ({
      path: [...path, key],
      of: "key",
      message: describeUnknown("key", key, known),
    }));
  }
  const meant = issue.code === "invalid_union" ? meantBranch(issue) : null;
  if (meant !== null) return meant.flatMap((inner) => describeSchemaIssue(inner, schema));
  const keys = issue.code === "invalid_type" && issue.expected === "object" ? knownKeysAt(schema, path) : [];
  // More are no help to somebody who thought that it takes a value.
  const known = keys.length > 0 && keys.length <= mostNamedKeys ? `; its keys are ${keys.join(", ")}` : "";
  return [{ path, of: issue.code === "invalid_key" ? "key" : "value", message: describeIssue(issue) + known }];
}

// Of several shapes the one is meant whose kind fits: then what is wrong inside of it is what counts.
function meantBranch(issue: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | null {
  const isOtherKind = ({ code, path }: z.core.$ZodIssue): boolean =>
    path.length === 0 && (code === "invalid_type" || code === "invalid_value");
  const fitting = issue.errors.filter((branch) => !branch.some(isOtherKind));
  if (fitting.length !== 1) return null;
  return (fitting[0] ?? []).map((inner) => {
    const input = inner.path.length === 0 ? issue.input : (inner.input ?? valueAt(issue.input, inner.path));
    return { ...inner, input, path: [...issue.path, ...inner.path] } as z.core.$ZodIssue;
  });
}

/** What stands at a path inside a value; undefined when nothing does. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const part of path) current = (current as Record<PropertyKey, unknown> | null | undefined)?.[part];
  return current;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined
        ? `is required (${withArticle(issue.expected)})`
        : `expected ${withArticle(issue.expected)}, got ${describeInput(issue.input)}`;
    case "invalid_value":
      return describeChoice(issue.values.map(String), issue.input);
    case "too_small":
    case "too_big":
      return isPlainMessage(issue.message) ? issue.message : describeBound(issue);
    case "invalid_key":
      return issue.issues[0]?.message ?? "is not a name this table can have";
    case "invalid_union":
      return isPlainMessage(issue.message) ? issue.message : describeUnion(issue);
    default:
      return issue.message;
  }
}

function describeChoice(values: readonly string[], input: unknown): string {
  if (input === undefined) return `is required (one of ${values.join(", ")})`;
  const near = typeof input === "string" ? suggest(input, values) : undefined;
  const choice = `expected one of ${values.join(", ")}, got ${describeInput(input)}`;
  return near === undefined ? choice : `${choice}; did you mean "${near}"?`;
}

function describeUnion(issue: z.core.$ZodIssueInvalidUnion): string {
  const kinds = issue.errors.flatMap((branch) =>
    branch.flatMap((inner) => {
      if (inner.path.length > 0) return [];
      if (inner.code === "invalid_value") return inner.values.map((value) => JSON.stringify(String(value)));
      return inner.code === "invalid_type" ? [withArticle(inner.expected)] : [];
    }),
  );
  const expected = kinds.length === 0 ? "another kind of value" : [...new Set(kinds)].join(" or ");
  return issue.input === undefined
    ? `is required (${expected})`
    : `expected ${expected}, got ${describeInput(issue.input)}`;
}

function describeBound(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const isSmall = issue.code === "too_small";
  const bound = isSmall ? issue.minimum : issue.maximum;
  if (issue.origin === "string" && isSmall) return "must not be empty";
  if (issue.origin === "array" && isSmall) return `needs at least ${bound}`;
  const relation = isSmall ? (issue.inclusive ? "at least" : "more than") : issue.inclusive ? "at most" : "less than";
  return `must be ${relation} ${bound}, got ${describeInput(issue.input)}`;
}

function isPlainMessage(message: string): boolean {
  return !/^(Too small|Too big|Invalid input)/.test(message);
}

function describeInput(input: unknown): string {
  if (input === null) return "nothing";
  if (Array.isArray(input)) return "a list";
  if (typeof input === "object") return "a table";
  if (typeof input === "function") return "a function";
  if (typeof input === "string") return JSON.stringify(input.length > 40 ? `${input.slice(0, 40)}…` : input);
  return inspect(input);
}

function withArticle(type: string): string {
  const words: Record<string, string> = {
    array: "a list",
    object: "a table",
    record: "a table",
    int: "a whole number",
    boolean: "true or false",
  };
  return words[type] ?? (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);
}
