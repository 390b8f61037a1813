import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { findCluster } from "../../src/environments/kubernetes/connection/find-cluster.ts";
import { KubeClient } from "../../src/environments/kubernetes/connection/kube-client.ts";

/** The API of the cluster that a kubeconfig leads to, as fast as it goes; whoever opens it disposes it. */
export async function openApi(kubeconfig: string, patienceMs = 60_000): Promise<KubeClient> {
  const host = readHost(process);
  const place = { baseDir: host.cwd, kubeconfig, context: undefined, namespace: undefined };
  const endpoint = await findCluster({ host, clock: systemClock, ...place });
  const pace = { callsPerSecond: 1e6, burst: 1e6 };
  return new KubeClient({ endpoint, clock: systemClock, pace, patienceMs });
}
