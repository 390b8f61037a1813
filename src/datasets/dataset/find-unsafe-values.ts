import { formatPath } from "../../base/problem.ts";

/** A value that JSON cannot hold, and where it is. */
export interface UnsafeValue {
  /** `metadata.when` */
  readonly path: string;
  /** What it is, and what to give instead. */
  readonly message: string;
}

const deepest = 500;

/** Every part of a value that would be lost or changed if it were written as JSON, up to `limit` of them. */
export function findUnsafeValues(value: unknown, path: readonly (string | number)[], limit = 20): UnsafeValue[] {
  const found: UnsafeValue[] = [];
  const above = new Set<object>();
  const at = [...path];
  const enter = (part: unknown, key: string | number): void => {
    at.push(key);
    visit(part);
    at.pop();
  };
  const visit = (part: unknown): void => {
    if (found.length >= limit) return;
    const isObject = typeof part === "object" && part !== null;
    const message = isObject ? problemOfObject(part, above) : problemOfScalar(part);
    if (message !== null) found.push({ path: formatPath(at), message });
    if (message !== null || !isObject) return;
    above.add(part);
    // Not `forEach`, which passes over holes.
    if (Array.isArray(part)) for (let index = 0; index < part.length; index++) enter(part[index], index);
    else for (const [key, inner] of Object.entries(part)) enter(inner, key);
    above.delete(part);
  };
  visit(value);
  return found;
}

function problemOfScalar(value: unknown): string | null {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? null : `${value} is no JSON; give null or a text`;
    case "undefined":
      return "undefined is no JSON; leave the key out or give null";
    case "bigint":
      return "a bigint is no JSON; give a number or a text";
    case "function":
    case "symbol":
      return `a ${typeof value} is no JSON`;
    default:
      return null;
  }
}

function problemOfObject(value: object, above: ReadonlySet<object>): string | null {
  if (above.has(value)) return "it contains itself";
  if (above.size >= deepest) return `it is nested deeper than ${deepest} levels`;
  if (Array.isArray(value)) return null;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype || isForeignPlain(prototype)) return null;
  if (value instanceof Date) return "a Date is no JSON; give its text (toISOString())";
  const { name } = (value.constructor ?? {}) as { readonly name?: unknown };
  return `an object of class ${typeof name === "string" && name !== "" ? name : "?"} is no JSON; give a plain object`;
}

// A plain object of another realm (a worker's, a test runner's) has another `Object.prototype`.
function isForeignPlain(prototype: unknown): boolean {
  return (
    typeof prototype === "object" &&
    prototype !== null &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, "hasOwnProperty")
  );
}
