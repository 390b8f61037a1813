/** A copy of lists and plain objects, however deep; anything else in them is handed on as it is. */
export function copyPlain<T>(value: T): T {
  return typeof value === "object" && value !== null ? (copyObject(value, new Map()) as T) : value;
}

function copyObject(value: object, copied: Map<object, object>): object {
  const known = copied.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) {
    const copy: unknown[] = [];
    copied.set(value, copy);
    for (const entry of value as unknown[]) copy.push(copyAny(entry, copied));
    return copy;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy = Object.create(prototype) as Record<string, unknown>;
  copied.set(value, copy);
  for (const [key, entry] of Object.entries(value))
    Object.defineProperty(copy, key, {
      value: copyAny(entry, copied),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  return copy;
}

function copyAny(value: unknown, copied: Map<object, object>): unknown {
  return typeof value === "object" && value !== null ? copyObject(value, copied) : value;
}
