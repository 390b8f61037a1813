import type { Json, JsonObject } from "../../base/json.ts";
import { RolloutError } from "../../base/rollout-error.ts";

/** `k=v`: JSON where it is, text otherwise. */
export function readParams(words: readonly string[]): JsonObject {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf("=");
      if (at < 1) throw new RolloutError("usage_invalid", `--param ${word}: write it as name=value`);
      return [word.slice(0, at), readValue(word.slice(at + 1))];
    }),
  );
}

function readValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
