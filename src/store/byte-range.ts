import { RolloutError } from "../base/rollout-error.ts";
import type { ByteRange } from "./run-source.ts";

/** Returns the bytes that a range selects of a file: from `start` up to and without `end`. Throws `range_invalid`. */
export function resolveByteRange(
  range: ByteRange | undefined,
  size: number,
): { readonly start: number; readonly end: number } {
  if (range === undefined) return { start: 0, end: size };
  if ("last" in range) {
    if (!isCount(range.last)) throw invalidRange(`the last ${range.last} bytes`, size);
    return { start: Math.max(0, size - range.last), end: size };
  }
  const { start, end = size } = range;
  if (!isCount(start) || start > size || !isCount(end) || end < start)
    throw invalidRange(`bytes ${start} to ${range.end ?? "the end"}`, size);
  return { start, end: Math.min(end, size) };
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function invalidRange(asked: string, size: number): RolloutError {
  return new RolloutError("range_invalid", `${asked} cannot be read: the file has ${size} bytes`);
}
