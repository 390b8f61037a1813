import { inspect } from "node:util";
import type { z } from "zod";
import { formatPath } from "../../base/problem.ts";
import { knownKeysAt } from "../../base/schema-shape.ts";
import { suggest } from "../../base/suggest.ts";
import { jobFileSchema, type JobFile } from "./job-schema.ts";

type Path = readonly (string | number)[];

/** What is left of a job without what the schema refused, and the keys that were refused. */
export interface PrunedJob {
  readonly job: JobFile;
  /** What a later check says about these is not worth telling. */
  readonly touched: ReadonlySet<string>;
}

// Each round may uncover what the one before had hidden; no job nests deeper than this.
const mostRounds = 4;

/** The job without what the schema refused, so that one look finds the other problems too; undefined when too little is left. */
export function pruneInvalid(value: unknown, error: z.ZodError): PrunedJob | undefined {
  const touched = new Set<string>();
  const newName = nameMaker(value);
  let pruned = value;
  let current = error;
  for (let round = 0; round < mostRounds; round++) {
    for (const path of current.issues.flatMap((issue) => refusedPaths(issue, touched))) {
      if (path.length === 0) return undefined;
      touched.add(formatPath(path));
      pruned = replaceAt(pruned, path, (refused) => standInFor(path, refused, newName));
    }
    const parsed = jobFileSchema.safeParse(pruned);
    if (parsed.success) return { job: parsed.data, touched };
    current = parsed.error;
  }
  return undefined;
}

function refusedPaths(issue: z.core.$ZodIssue, touched: Set<string>): Path[] {
  const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
  if (issue.code !== "unrecognized_keys") return [path];
  const known = knownKeysAt(jobFileSchema, path);
  for (const key of issue.keys) {
    // A mistyped key was meant to be the suggested one, so that one is not missing.
    const meant = suggest(key, known);
    if (meant !== undefined) touched.add(formatPath([...path, meant]));
  }
  return issue.keys.map((key) => [...path, key]);
}

// What stands in for a key that must be there, so that the rest of the job can still be checked.
function standInFor(path: Path, refused: unknown, newName: () => string): unknown {
  if (typeof path.at(-1) === "number") return entryStandIn(refused);
  switch (path.map((part) => (typeof part === "number" ? "*" : part)).join(".")) {
    case "agents":
      return [{ name: "oracle" }];
    case "datasets":
      return [{ tasks: ["/"] }];
    case "agents.*.name":
      return newName();
    case "metrics.*.type":
      return "mean";
    default:
      return undefined;
  }
}

// Entries are tables or paths; where an empty table was refused too, a path is wanted.
function entryStandIn(refused: unknown): unknown {
  const isEmptyTable = refused !== null && typeof refused === "object" && Object.keys(refused).length === 0;
  return isEmptyTable ? "/" : {};
}

/** Makes names that stand nowhere in the job, so that none collides with a name a person gave. */
function nameMaker(value: unknown): () => string {
  const everything = { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity };
  const taken = inspect(value, everything).toLowerCase();
  let count = 0;
  const next = (): string => {
    const name = `stand-in-${count++}`;
    return taken.includes(name) ? next() : name;
  };
  return next;
}

/** A copy with another value at a path, or without the key when there is none. */
function replaceAt(target: unknown, path: Path, replace: (refused: unknown) => unknown): unknown {
  const [part, ...rest] = path;
  if (part === undefined || target === null || typeof target !== "object") return target;
  const inside = (refused: unknown): unknown =>
    rest.length === 0 ? replace(refused) : replaceAt(refused, rest, replace);
  if (Array.isArray(target)) return target.map((item: unknown, at) => (at === Number(part) ? inside(item) : item));
  const { [part]: refused, ...others } = target as Record<string, unknown>;
  const replaced = inside(refused);
  return replaced === undefined ? others : { ...others, [part]: replaced };
}
