import type { ConfigSchema, EnvironmentProvider, ProviderModule } from "./environment.ts";

const anything: ConfigSchema = { "~standard": { version: 1, vendor: "rollout", validate: (value) => ({ value }) } };

/** A module for a provider that is open already, for jobs that are given one in code; it takes any `provider_config`. */
export function moduleOf(provider: EnvironmentProvider): ProviderModule {
  return { name: provider.name, configSchema: anything, open: async () => provider };
}
