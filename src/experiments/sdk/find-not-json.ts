const deepest = 200;

/**
 * The first thing in a value that has no form in JSON, with its place, or null when there is none. Members that are
 * undefined are left out of JSON as ever, and what stands for itself as text (dates, bigints) has a form.
 */
export function findNotJson(value: unknown, path: string): string | null {
  return find(value, path, []);
}

function find(value: unknown, path: string, above: readonly object[]): string | null {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? null : `${value} at ${path} is no number of JSON`;
    case "undefined":
      return `undefined at ${path} has no form in JSON`;
    case "function":
    case "symbol":
      return `a ${typeof value} at ${path} has no form in JSON`;
    case "object":
      return value === null ? null : findInObject(value, path, above);
    default:
      return null;
  }
}

function findInObject(value: object, path: string, outer: readonly object[]): string | null {
  if (outer.includes(value)) return `an object at ${path} contains itself, which has no form in JSON`;
  if (outer.length >= deepest) return `what is at ${path.slice(0, 100)}… is nested too deep`;
  const above = [...outer, value];
  try {
    return findInParts(value, path, above);
  } catch (error) {
    return `what is at ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function findInParts(value: object, path: string, above: readonly object[]): string | null {
  if (Array.isArray(value) || value instanceof Set) {
    // A hole is undefined to this loop.
    for (const [place, entry] of [...(value as Iterable<unknown>)].entries()) {
      const found = find(entry, `${path}[${place}]`, above);
      if (found !== null) return found;
    }
    return null;
  }
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? `an invalid date at ${path} has no form in JSON` : null;
  if (value instanceof Error || ArrayBuffer.isView(value)) return null;
  if ("toJSON" in value && typeof value.toJSON === "function") return find(value.toJSON(), path, above);
  const entries = value instanceof Map ? value.entries() : Object.entries(value);
  for (const [key, entry] of entries) {
    if (entry === undefined) continue;
    const found = find(entry, `${path}.${String(key)}`, above);
    if (found !== null) return found;
  }
  return null;
}
