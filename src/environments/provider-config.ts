import { knownKeysAt } from "../base/schema-shape.ts";
import { describeUnknown } from "../base/suggest.ts";
import type { ConfigIssue, ConfigSchema, ProviderModule } from "./environment.ts";

export type ProviderConfigCheck =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly path: (string | number)[]; readonly message: string }[] };

/** The config as the provider's schema returns it, or everything that is wrong with it. */
export async function checkProviderConfig(module: ProviderModule, config: unknown): Promise<ProviderConfigCheck> {
  const result = await module.configSchema["~standard"].validate(config);
  if (!result.issues) return { value: result.value };
  return { issues: result.issues.flatMap((issue) => plainIssues(issue, module.configSchema)) };
}

// Zod's issue about unknown keys stands at their table and names them in its own words; each key gets its own line here.
function plainIssues(issue: ConfigIssue, schema: ConfigSchema): { path: (string | number)[]; message: string }[] {
  const path = pathOf(issue);
  const { code, keys } = issue as { readonly code?: unknown; readonly keys?: unknown };
  if (code !== "unrecognized_keys" || !Array.isArray(keys)) return [{ path, message: issue.message }];
  const known = knownKeysAt(schema, path);
  return keys.map((key) => ({ path: [...path, String(key)], message: describeUnknown("key", String(key), known) }));
}

function pathOf(issue: ConfigIssue): (string | number)[] {
  return (issue.path ?? []).map((part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof key === "number" ? key : String(key);
  });
}
