import type { z } from "zod";
import { describeSchemaIssue, valueAt } from "../base/schema-problems.ts";
import type { ConfigIssue, ConfigSchema, ProviderModule } from "./environment.ts";

export type ProviderConfigCheck =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly path: (string | number)[]; readonly message: string }[] };

/** The config as the provider's schema returns it, or everything that is wrong with it. */
export async function checkProviderConfig(module: ProviderModule, config: unknown): Promise<ProviderConfigCheck> {
  const result = await module.configSchema["~standard"].validate(config);
  if (!result.issues) return { value: result.value };
  return { issues: result.issues.flatMap((issue) => plainIssues(issue, module.configSchema, config)) };
}

// Zod's own words are those of a programmer; another schema's are taken as they are.
function plainIssues(
  issue: ConfigIssue,
  schema: ConfigSchema,
  config: unknown,
): { path: (string | number)[]; message: string }[] {
  const path = pathOf(issue);
  if (!("_zod" in schema) || !("code" in issue)) return [{ path, message: issue.message }];
  const told = { ...issue, path, input: valueAt(config, path) } as unknown as z.core.$ZodIssue;
  return describeSchemaIssue(told, schema).map(({ path: at, message }) => ({ path: at, message }));
}

function pathOf(issue: ConfigIssue): (string | number)[] {
  return (issue.path ?? []).map((part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof key === "number" ? key : String(key);
  });
}
