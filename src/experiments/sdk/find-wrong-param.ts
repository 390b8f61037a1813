import type { Json, JsonObject } from "../../base/json.ts";
import { describeUnknown } from "../../base/suggest.ts";

/** What is wrong with params that are put over an experiment's defaults, or null. Without defaults anything goes. */
export function findWrongParam(defaults: JsonObject | undefined, given: JsonObject): string | null {
  if (defaults === undefined) return null;
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaults, name))
      return `param "${name}": ${describeUnknown("param", name, Object.keys(defaults))}`;
    const [wanted, got] = [kindOf(defaults[name]), kindOf(value)];
    if (wanted !== null && got !== null && wanted !== got)
      return `param "${name}" is ${wanted} (default ${JSON.stringify(defaults[name])}), not ${JSON.stringify(value)}`;
  }
  return null;
}

/** Null says nothing of what else may stand there. */
function kindOf(value: Json | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return "a list";
  return typeof value === "string" ? "a text" : `${typeof value === "object" ? "an" : "a"} ${typeof value}`;
}
