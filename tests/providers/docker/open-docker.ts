import { systemClock } from "../../../src/base/clock.ts";
import { readHost } from "../../../src/base/host.ts";
import { silentLog } from "../../../src/base/log.ts";
import { noSecrets } from "../../../src/base/redactor.ts";
import { dockerConfigSchema } from "../../../src/environments/docker/docker-config-schema.ts";
import { dockerProviderModule } from "../../../src/environments/docker/docker-provider.ts";
import type { EnvironmentProvider } from "../../../src/environments/environment.ts";

/** The docker provider on the engine that the given variables lead to, for another user than this process's if one is given. */
export function openDocker(
  env: Readonly<Record<string, string>> = {},
  config: Record<string, unknown> = {},
  uid?: number,
): Promise<EnvironmentProvider> {
  const host = readHost(process);
  return dockerProviderModule.open({
    config: dockerConfigSchema.parse(config),
    baseDir: host.cwd,
    timeoutMultiplier: 1,
    host: { ...host, uid: uid ?? host.uid, env: { ...host.env, ...env } },
    clock: systemClock,
    redactor: noSecrets,
    log: silentLog,
    signal: new AbortController().signal,
  });
}
