import { silentLog } from "../base/log.ts";
import { noSecrets } from "../base/redactor.ts";
import { RolloutError } from "../base/rollout-error.ts";
import type { EnvironmentProvider } from "../environments/environment.ts";
import { checkProviderConfig } from "../environments/provider-config.ts";
import { loadProviderModule } from "../environments/registry.ts";
import type { CliContext } from "./cli-context.ts";

export interface ProviderWish {
  readonly type: string;
  readonly providerConfig: unknown;
  readonly baseDir: string;
}

/** Opens a provider outside of any job; rejects with `config_invalid` when its config does not fit, naming the keys. */
export async function openProvider(
  { type, providerConfig, baseDir }: ProviderWish,
  { host, clock }: Pick<CliContext, "host" | "clock">,
  signal: AbortSignal,
): Promise<EnvironmentProvider> {
  const module = await loadProviderModule(type, baseDir);
  const checked = await checkProviderConfig(module, providerConfig);
  if (checked.issues) {
    const keys = checked.issues.map(({ path }) => `provider_config.${path.join(".")}`).join(", ");
    throw new RolloutError("config_invalid", `environment "${type}" needs ${keys}`);
  }
  const shared = { baseDir, timeoutMultiplier: 1, host, clock, redactor: noSecrets, log: silentLog, signal };
  return module.open({ config: checked.value, ...shared });
}
