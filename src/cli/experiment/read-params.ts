import type { Json, JsonObject } from "../../base/json.ts";
import { RolloutError } from "../../base/rollout-error.ts";

/** `k=v`, each once: JSON where it is, text otherwise. */
export function readParams(words: readonly string[]): JsonObject {
  const params = new Map<string, Json>();
  for (const word of words) {
    const at = word.indexOf("=");
    if (at < 1) throw new RolloutError("usage_invalid", `--param ${word}: write it as name=value`);
    const name = word.slice(0, at);
    if (params.has(name)) throw new RolloutError("usage_invalid", `--param ${name} is given twice`);
    params.set(name, readValue(word.slice(at + 1)));
  }
  return Object.fromEntries(params);
}

function readValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
