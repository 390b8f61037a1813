/** A copy of lists and plain objects, however deep; anything else in them is handed on as it is. */
export function copyPlain<T>(value: T): T {
  return typeof value === "object" && value !== null ? (copyObject(value, null) as T) : value;
}

/** What was copied already, and its copy. */
type Copied = Map<object, object>;

function copyObject(value: object, above: Copied | null): object {
  const known = above?.get(value);
  if (known !== undefined) return known;
  return Array.isArray(value) ? copyList(value as unknown[], above) : copyRecord(value, above);
}

function copyList(value: readonly unknown[], above: Copied | null): unknown[] {
  const copy: unknown[] = [];
  let copied = above?.set(value, copy) ?? null;
  for (const entry of value) {
    if (typeof entry === "object" && entry !== null)
      copy.push(copyObject(entry, (copied ??= new Map<object, object>([[value, copy]]))));
    else copy.push(entry);
  }
  return copy;
}

function copyRecord(value: object, above: Copied | null): object {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy = (prototype === null ? Object.create(null) : {}) as Record<string, unknown>;
  // Made for the first object inside: most values have none.
  let copied = above?.set(value, copy) ?? null;
  for (const key of Object.keys(value)) {
    const entry = (value as Readonly<Record<string, unknown>>)[key];
    const own =
      typeof entry === "object" && entry !== null
        ? copyObject(entry, (copied ??= new Map<object, object>([[value, copy]])))
        : entry;
    // Plain assignment would set the prototype instead.
    if (key === "__proto__")
      Object.defineProperty(copy, key, { value: own, writable: true, enumerable: true, configurable: true });
    else copy[key] = own;
  }
  return copy;
}
