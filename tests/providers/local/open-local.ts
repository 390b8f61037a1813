import { systemClock } from "../../../src/base/clock.ts";
import { readHost } from "../../../src/base/host.ts";
import { silentLog } from "../../../src/base/log.ts";
import { noSecrets } from "../../../src/base/redactor.ts";
import type { EnvironmentProvider } from "../../../src/environments/environment.ts";
import { localProviderModule } from "../../../src/environments/local/local-provider.ts";

/** The local provider as this process may use it, with a cache of its own. */
export function openLocal(cacheDir: string, config: Record<string, unknown> = {}): Promise<EnvironmentProvider> {
  return localProviderModule.open({
    config,
    baseDir: cacheDir,
    timeoutMultiplier: 1,
    host: { ...readHost(process), cacheDir },
    clock: systemClock,
    redactor: noSecrets,
    log: silentLog,
    signal: new AbortController().signal,
  });
}
