import { parseDocument } from "yaml";
import { formatPath } from "../../base/problem.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { isTextKey } from "./text-keys.ts";

type Path = readonly (string | number)[];

/** A value that the command line puts over the file's. */
export interface Override {
  readonly path: Path;
  readonly value: unknown;
  /** The value as it was typed, for keys that are text whatever it looks like. */
  readonly text?: string | undefined;
  /** What the person typed, for messages: `--set n_attempts=3`. */
  readonly label: string;
}

/** An override that found its place, or what stood in its way. */
export interface AppliedOverride {
  /** The outermost key that is there only because of it; when it did not fit, the key in its way. */
  readonly path: Path;
  readonly label: string;
  readonly problem?: string | undefined;
}

/** `environment.override_cpus=2`, `agents[0].env.MODEL=x` or `provider_config["a.b"]=1`; the value is read as YAML. */
export function parseSet(text: string): Override {
  const label = `--set ${text}`;
  const { path, end } = parsePath(text);
  if (text[end] === "=" && path.length > 0) {
    const typed = text.slice(end + 1);
    return { path, value: parseValue(typed), text: typed, label };
  }
  const key = text.slice(0, text.includes("=") ? text.indexOf("=") : text.length);
  if (key === "" || key === text) {
    throw new RolloutError("usage_invalid", `${label}: expected key=value`, { hint: "for example --set n_attempts=3" });
  }
  throw new RolloutError("usage_invalid", `${label}: "${key}" is not a key`, {
    hint: "write it as environment.override_cpus or agents[0].env.MODEL",
  });
}

/** Puts each override in its place and remembers which key came from which option. */
export function applyOverrides(
  value: unknown,
  overrides: readonly Override[],
): { readonly value: unknown; readonly applied: readonly AppliedOverride[] } {
  let merged = value;
  const applied = overrides.map((override): AppliedOverride => {
    const { label } = override;
    const path = numberIndexes(merged, override.path);
    const obstacle = findObstacle(merged, path);
    if (obstacle) return { ...obstacle, label };
    const created = firstMissing(merged, path);
    merged = withValue(merged, path, isTextKey(path) ? (override.text ?? override.value) : override.value);
    return { path: created, label };
  });
  return { value: merged, applied };
}

function numberIndexes(target: unknown, path: Path): (string | number)[] {
  let current = target;
  return path.map((part) => {
    const key = Array.isArray(current) && /^\d+$/.test(String(part)) ? Number(part) : part;
    current = inside(current, key);
    return key;
  });
}

function firstMissing(target: unknown, path: Path): Path {
  let current = target;
  for (const [at, part] of path.entries()) {
    current = inside(current, part);
    if (current === undefined) return path.slice(0, at + 1);
  }
  return path;
}

function findObstacle(target: unknown, path: Path): { path: Path; problem: string } | undefined {
  let current = target ?? {};
  for (const [at, part] of path.entries()) {
    const here = path.slice(0, at);
    const next = path.slice(0, at + 1);
    if (typeof part === "number") {
      if (!Array.isArray(current) && !isEmptyTable(current)) return { path: here, problem: "is not a list" };
      const length = Array.isArray(current) ? current.length : 0;
      if (part > length) {
        return { path: next, problem: `the list has ${length}, so the next is ${formatPath([...here, length])}` };
      }
    } else if (typeof current !== "object" || Array.isArray(current)) {
      return { path: here, problem: at === 0 ? "the job is not a table" : "is not a table" };
    }
    current = inside(current, part) ?? {};
  }
  return undefined;
}

function isEmptyTable(value: object | string | number | boolean): boolean {
  return typeof value === "object" && Object.keys(value).length === 0;
}

function inside(target: unknown, part: string | number): NonNullable<object | string | number | boolean> | undefined {
  if (target === null || typeof target !== "object" || !Object.hasOwn(target, part)) return undefined;
  return (target as Record<string | number, object | string | number | boolean | null>)[part] ?? undefined;
}

// Called only where nothing of another kind stands in the way.
function withValue(target: unknown, path: Path, value: unknown): unknown {
  const [part, ...rest] = path;
  if (part === undefined) return value;
  if (typeof part === "number") {
    const list = Array.isArray(target) ? [...(target as unknown[])] : [];
    list[part] = withValue(list[part], rest, value);
    return list;
  }
  return { ...(target as object | null | undefined), [part]: withValue(inside(target, part), rest, value) };
}

/** Reads as much of a text as is a path; `end` is where it stopped. */
function parsePath(text: string): { path: (string | number)[]; end: number } {
  const path: (string | number)[] = [];
  const pattern = /(?:^|(?!^)\.)([^.[\]="]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;
  for (;;) {
    const end = pattern.lastIndex;
    const match = pattern.exec(text);
    if (!match) return { path, end };
    const [, word, index, quoted] = match;
    path.push(word ?? (index === undefined ? unquote(quoted ?? '""') : Number(index)));
  }
}

function unquote(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    return text.slice(1, -1);
  }
}

function parseValue(text: string): unknown {
  const doc = parseDocument(text, { prettyErrors: false, logLevel: "silent" });
  if (doc.errors.length > 0 || doc.warnings.length > 0) return text;
  try {
    const value = doc.toJS() as unknown;
    // A lone comment or anchor is nothing in YAML, but nobody types one to mean nothing.
    return value === null && !/^\s*(?:~|null|Null|NULL)?\s*$/.test(text) ? text : value;
  } catch {
    return text;
  }
}
