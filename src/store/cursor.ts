import { RolloutError } from "../base/rollout-error.ts";

type CursorPart = string | number | null;

/** Makes an opaque string that can be put into a URL. */
export function encodeCursor(parts: readonly CursorPart[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** Returns the parts of a cursor, or null if `encodeCursor` did not make it with as many parts. */
export function decodeCursor(cursor: string, length: number): readonly CursorPart[] | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(parts) && parts.length === length && parts.every(isPart) ? parts : null;
  } catch {
    return null;
  }
}

/** The page position does not belong to the list that is read. */
export function invalidPositionError(position: string): RolloutError {
  return new RolloutError("usage_invalid", `the page position "${position}" is not valid for this list`, {
    hint: "read the list again from the beginning",
  });
}

function isPart(value: unknown): value is CursorPart {
  return value === null || typeof value === "string" || typeof value === "number";
}
