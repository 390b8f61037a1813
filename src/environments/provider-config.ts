import type { ConfigIssue, ProviderModule } from "./environment.ts";

export type ProviderConfigCheck =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly path: (string | number)[]; readonly message: string }[] };

/** The config as the provider's schema returns it, or everything that is wrong with it. */
export async function checkProviderConfig(module: ProviderModule, config: unknown): Promise<ProviderConfigCheck> {
  const result = await module.configSchema["~standard"].validate(config);
  if (!result.issues) return { value: result.value };
  return { issues: result.issues.map((issue) => ({ path: pathOf(issue), message: issue.message })) };
}

function pathOf(issue: ConfigIssue): (string | number)[] {
  return (issue.path ?? []).map((part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof key === "number" ? key : String(key);
  });
}
