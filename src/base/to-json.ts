import type { Json } from "./json.ts";

/** A value as JSON can hold it, and about how many characters it takes. */
export interface JsonCopy {
  readonly json: Json;
  readonly size: number;
  /** It held NaN or infinities. */
  readonly hadNonFinite: boolean;
}

export interface ToJsonOptions {
  /** Makes NaN and infinities text ("NaN"). Default: they become null. */
  readonly nonFiniteAsText?: boolean | undefined;
}

/**
 * A copy of anything that JSON can hold: what it cannot becomes null (cycles, functions, NaN), text (bigints, dates) or a
 * plain object (errors, maps and sets). Never throws, whatever getters and proxies do.
 */
export function toJson(value: unknown, { nonFiniteAsText = false }: ToJsonOptions = {}): JsonCopy {
  const copier = new Copier(nonFiniteAsText);
  const json = copier.copy(value);
  return { json, size: copier.size, hadNonFinite: copier.hadNonFinite };
}

const deepest = 200;

class Copier {
  size = 0;
  hadNonFinite = false;
  readonly #nonFiniteAsText: boolean;
  /** The objects that contain the one being copied. */
  #above: Set<object> | null = null;

  constructor(nonFiniteAsText: boolean) {
    this.#nonFiniteAsText = nonFiniteAsText;
  }

  copy(value: unknown): Json {
    switch (typeof value) {
      case "string":
        this.size += value.length + 2;
        return value.isWellFormed() ? value : value.toWellFormed();
      case "number":
        this.size += 8;
        if (Number.isFinite(value)) return value;
        this.hadNonFinite = true;
        return this.#nonFiniteAsText ? String(value) : null;
      case "boolean":
        this.size += 5;
        return value;
      case "bigint":
        return this.copy(String(value));
      case "object":
        return value === null ? null : this.#copyObject(value);
      default:
        return null;
    }
  }

  #copyObject(value: object): Json {
    // Made for the first object: most values have none.
    const above = (this.#above ??= new Set());
    if (above.has(value) || above.size >= deepest) return null;
    above.add(value);
    try {
      return this.#copyParts(value);
    } catch {
      // A getter or a proxy that throws has nothing to show.
      return null;
    } finally {
      above.delete(value);
    }
  }

  #copyParts(value: object): Json {
    this.size += 2;
    if (Array.isArray(value)) return value.map((entry) => this.copy(entry));
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : this.copy(value.toISOString());
    if (value instanceof Error) return this.#copyEntries({ name: value.name, message: value.message });
    if (value instanceof Map) return this.#copyEntries(Object.fromEntries(value));
    if (value instanceof Set) return this.copy([...value]);
    if (ArrayBuffer.isView(value)) return this.copy(`<${value.byteLength} bytes>`);
    if ("toJSON" in value && typeof value.toJSON === "function") return this.copy(value.toJSON());
    return this.#copyEntries(value);
  }

  #copyEntries(value: object): Json {
    const copied: Record<string, Json> = {};
    for (const [key, entry] of Object.entries(value)) {
      // What JSON.stringify would leave out is left out.
      if (entry === undefined || typeof entry === "function" || typeof entry === "symbol") continue;
      this.size += key.length + 4;
      // Plain assignment would set the prototype instead.
      if (key === "__proto__") Object.defineProperty(copied, key, { value: this.copy(entry), enumerable: true });
      else copied[key] = this.copy(entry);
    }
    return copied;
  }
}
