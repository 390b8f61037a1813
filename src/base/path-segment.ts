import { createHash } from "node:crypto";

const longestBytes = 200;
const hashDigits = 8;

/** A name as one segment of a path: readable, portable, never empty, `.` or `..`, and bounded in length. */
export function toPathSegment(name: string): string {
  const safe = name
    .toWellFormed()
    .normalize("NFC")
    // oxlint-disable-next-line no-control-regex
    .replace(/[/\\:*?"<>|\u0000-\u001f\u007f]/g, "_")
    .replace(/[ .]+$/, "_");
  if (safe === "") return "_";
  if (Buffer.byteLength(safe) <= longestBytes) return safe;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, hashDigits);
  return `${firstBytes(safe, longestBytes - hashDigits - 1)}-${hash}`;
}

/** As many whole characters from the start of a text as fit into `limit` bytes. */
function firstBytes(text: string, limit: number): string {
  let end = 0;
  let bytes = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > limit) break;
    end += character.length;
  }
  return text.slice(0, end);
}
