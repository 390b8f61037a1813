import { systemClock } from "../../../src/base/clock.ts";
import { readHost } from "../../../src/base/host.ts";
import { silentLog, type Log } from "../../../src/base/log.ts";
import { noSecrets } from "../../../src/base/redactor.ts";
import { kubernetesConfigSchema } from "../../../src/environments/kubernetes/kubernetes-config-schema.ts";
import { kubernetesProviderModule } from "../../../src/environments/kubernetes/kubernetes-provider.ts";
import type { EnvironmentProvider } from "../../../src/environments/environment.ts";

/** The Kubernetes provider on the cluster that the given variables lead to. */
export function openKubernetes(
  env: Readonly<Record<string, string>> = {},
  config: Record<string, unknown> = {},
  log: Log = silentLog,
): Promise<EnvironmentProvider> {
  const host = readHost(process);
  return kubernetesProviderModule.open({
    config: kubernetesConfigSchema.parse(config),
    baseDir: host.cwd,
    timeoutMultiplier: 1,
    host: { ...host, env: { ...host.env, ...env } },
    clock: systemClock,
    redactor: noSecrets,
    log,
    signal: new AbortController().signal,
  });
}
