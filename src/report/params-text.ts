import type { JsonObject } from "../base/json.ts";
import { fitWidth, plainText } from "../base/terminal-text.ts";

// A prompt may be a parameter; all of it stands in the record.
const longestValue = 60;

/** Parameters on one line: `model=small, words=["win","free"]`; empty without any. */
export function paramsText(params: JsonObject | undefined): string {
  return Object.entries(params ?? {})
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return `${plainText(name)}=${fitWidth(plainText(text), longestValue)}`;
    })
    .join(", ");
}
