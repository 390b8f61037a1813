import { resolveByteRange } from "./byte-range.ts";
import type { Artifact, Truncation, Unit } from "./run.ts";
import type { ArtifactContent, ByteRange } from "./run-source.ts";

// The JSON of a value that is returned with its unit.
const maxValueBytes = 64 * 1024;

const fields = ["input", "expected", "output"] as const;

interface LargeValue extends Truncation {
  readonly json: Buffer;
}

/** Returns a unit whose large values are replaced by the beginning of their JSON. */
export function cutValues(unit: Unit): Unit {
  const large = largeValues(unit);
  if (large.length === 0) return unit;
  const cut = Object.fromEntries(large.map(({ field, json }) => [field, beginningOf(json)]));
  return { ...unit, ...cut, truncated: large.map(({ field, bytes, artifact }) => ({ field, bytes, artifact })) };
}

/** Returns the artifacts of a unit, with one for each value that `cutValues` cuts. */
export function artifactsOf(unit: Unit): readonly Artifact[] {
  return [...unit.artifacts, ...largeValues(unit).map(toArtifact)];
}

/** Returns the content of a value that `cutValues` cuts, or null if no such value has that artifact name. */
export function valueContent(unit: Unit, name: string, range: ByteRange | undefined): ArtifactContent | null {
  const value = largeValues(unit).find(({ artifact }) => artifact === name);
  if (value === undefined) return null;
  const { start, end } = resolveByteRange(range, value.bytes);
  const content = value.json.subarray(start, end);
  return { artifact: toArtifact(value), modifiedAt: unit.endedAt, start, content: yieldOnce(content) };
}

function largeValues(unit: Unit): readonly LargeValue[] {
  return fields.flatMap((field) => {
    const text = JSON.stringify(unit[field]) as string | undefined;
    // A character has at most 3 bytes per UTF-16 unit.
    if (text === undefined || text.length * 3 <= maxValueBytes) return [];
    const json = Buffer.from(text);
    return json.length > maxValueBytes ? [{ field, json, bytes: json.length, artifact: `${field}.json` }] : [];
  });
}

function toArtifact({ artifact, bytes }: Truncation): Artifact {
  return { name: artifact, size: bytes, mediaType: "application/json" };
}

function beginningOf(json: Buffer): string {
  let end = maxValueBytes;
  // Bytes 10xxxxxx continue a character: do not cut inside one.
  while (((json[end] ?? 0) & 0xc0) === 0x80) end--;
  return json.toString("utf8", 0, end);
}

async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
