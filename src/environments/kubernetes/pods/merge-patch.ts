type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON merge patch (RFC 7396): objects are merged, null removes, all else replaces. */
export function mergePatch(target: JsonObject, patch: JsonObject): Record<string, unknown> {
  const result: Record<string, unknown> = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    const old = result[key];
    if (value === null) delete result[key];
    else if (isObject(value)) result[key] = mergePatch(isObject(old) ? old : {}, value);
    else result[key] = value;
  }
  return result;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
