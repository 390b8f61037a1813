import { JsonText } from "./json-text.ts";
import type { RawMembers } from "./raw-members.ts";

/** The members of a JSON object as they are written; null when the text is no JSON object. */
export function scanObject(text: string): RawMembers | null {
  const source = JsonText.of(text);
  return source.scanObject(0, source.length);
}
