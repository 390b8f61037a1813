import { jobFileSchema } from "../config/job-schema.ts";
import { boundKeysOf, hashValue } from "../inputs/bound-keys.ts";
import type { TaskDigest } from "../inputs/hash-task.ts";
import type { TaskTexts } from "../inputs/task-texts.ts";
import { diffLines } from "./line-diff.ts";

/** Something that results which are there already depend on, and that is not what it was. */
export interface JobChange {
  /** `agents.my-agent.execute`, `task tasks/greet: tests/test.sh` */
  readonly what: string;
  /** `- before`, `+ after` */
  readonly lines: readonly string[];
}

type Table = Readonly<Record<string, unknown>>;

/** What differs between the job that was run and the one that is to be run, without what may change freely. */
export function findKeyChanges(before: unknown, after: Table): JobChange[] {
  // A job that an earlier version ran has no keys that came later; their defaults are what it ran with.
  const parsed = jobFileSchema.safeParse(before);
  const old = boundKeysOf(parsed.success ? parsed.data : (before as Table));
  const now = boundKeysOf(after);
  return [
    ...compare("environment", old.environment, now.environment),
    ...Object.keys(now.settings).flatMap((key) => compare(key, old.settings[key], now.settings[key])),
    // An agent that is new has no results yet, and one that is gone is told with its trials.
    ...[...now.agents].flatMap(([name, agent]) =>
      old.agents.has(name) ? compare(`agents.${name}`, old.agents.get(name), agent) : [],
    ),
  ];
}

/** A task's files at one time, with the texts that are known. */
export interface TaskContent {
  readonly digest: TaskDigest;
  readonly texts: TaskTexts;
}

/** Which files of a task are not what they were; null stands for a task that is gone. */
export function findTaskChanges(
  name: string,
  { digest: before, texts: oldTexts }: TaskContent,
  now: TaskContent | null,
): JobChange[] {
  const after = now?.digest ?? null;
  if (after === null) return [{ what: `task ${name}`, lines: [`- ${before.hash}`, "+ not there"] }];
  if (before.hash === after.hash) return [];
  const paths = [...new Set([...Object.keys(before.files), ...Object.keys(after.files)])].sort();
  return paths
    .filter((path) => before.files[path] !== after.files[path])
    .map((path) => ({
      what: `task ${name}: ${path}`,
      lines: diffTexts(oldTexts[path], now?.texts[path]) ?? [
        `- ${describeFile(before.files[path])}`,
        `+ ${describeFile(after.files[path])}`,
      ],
    }));
}

const mostFileLines = 40;

// Null where a text is not known, or is not what has changed.
function diffTexts(before: string | undefined, after: string | undefined): string[] | null {
  if (before === undefined || after === undefined || before === after) return null;
  const lines = diffLines(before, after);
  if (lines.length <= mostFileLines) return lines;
  return [...lines.slice(0, mostFileLines), `… and ${lines.length - mostFileLines} more lines`];
}

const mostLines = 200;

/** Changes as a person reads them. */
export function describeChanges(changes: readonly JobChange[]): string[] {
  const lines = changes.flatMap(({ what, lines: parts }) => [what, ...parts.map((line) => `  ${line}`)]);
  if (lines.length <= mostLines) return lines;
  return [...lines.slice(0, mostLines), `… and ${lines.length - mostLines} more lines`];
}

function compare(path: string, before: unknown, after: unknown): JobChange[] {
  if (hashValue(before) === hashValue(after)) return [];
  if (isTable(before) && isTable(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => compare(`${path}.${key}`, before[key], after[key]));
  }
  if (typeof before === "string" && typeof after === "string" && `${before}${after}`.includes("\n"))
    return [{ what: path, lines: diffLines(before, after) }];
  return [{ what: path, lines: [`- ${describeValue(before)}`, `+ ${describeValue(after)}`] }];
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describeValue(value: unknown): string {
  return value === undefined ? "not set" : JSON.stringify(value);
}

function describeFile(digest: string | undefined): string {
  if (digest === undefined) return "not there";
  const [, size = "", hash = ""] = /^(.*):(.*)$/.exec(digest) ?? [];
  const amount = /^\d+$/.test(size) ? `${size} bytes` : size;
  return hash === "" ? digest : `${amount}, ${hash.slice(0, 12)}${hash.endsWith("x") ? ", executable" : ""}`;
}
