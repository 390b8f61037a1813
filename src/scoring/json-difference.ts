import { formatPath } from "../base/problem.ts";
import { isRecord } from "./is-record.ts";
import { shown } from "./shown.ts";

/** The first place at which two JSON values differ. */
export interface Difference {
  /** As a person would say it, `items[2].price`; empty for the whole value. */
  readonly path: string;
  readonly message: string;
}

// Deeper values are circular, or nobody's answer.
const deepest = 500;

/** Where two JSON values differ first, the order of keys aside; null when they are equal. A key that is undefined is absent. */
export function jsonDifference(expected: unknown, actual: unknown): Difference | null {
  const path: (string | number)[] = [];
  const message = compare(expected, actual, path);
  return message === null ? null : { path: formatPath(path), message };
}

// The path is grown on the way down and left as it is at the difference.
function compare(expected: unknown, actual: unknown, path: (string | number)[]): string | null {
  if (expected === actual || (Number.isNaN(expected) && Number.isNaN(actual))) return null;
  if (path.length > deepest) return `is nested more than ${deepest} deep`;
  if (Array.isArray(expected) && Array.isArray(actual)) return compareLists(expected, actual, path);
  if (isRecord(expected) && isRecord(actual)) return compareRecords(expected, actual, path);
  return `expected ${shown(expected)}, got ${shown(actual)}`;
}

function compareLists(
  expected: readonly unknown[],
  actual: readonly unknown[],
  path: (string | number)[],
): string | null {
  for (let index = 0; index < Math.min(expected.length, actual.length); index++) {
    path.push(index);
    const message = compare(expected[index], actual[index], path);
    if (message !== null) return message;
    path.pop();
  }
  if (expected.length === actual.length) return null;
  return `expected ${expected.length} elements, got ${actual.length}`;
}

type Keyed = Readonly<Record<string, unknown>>;

function compareRecords(expected: Keyed, actual: Keyed, path: (string | number)[]): string | null {
  for (const key of Object.keys(expected)) {
    path.push(key);
    if (expected[key] !== undefined && (!Object.hasOwn(actual, key) || actual[key] === undefined)) return "is missing";
    const message = compare(expected[key], actual[key], path);
    if (message !== null) return message;
    path.pop();
  }
  for (const key of Object.keys(actual)) {
    if (actual[key] === undefined || Object.hasOwn(expected, key)) continue;
    path.push(key);
    return "was not expected";
  }
  return null;
}
