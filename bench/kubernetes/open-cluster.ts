import { hasBinary } from "../../tests/kubernetes-rig/build-binary.ts";
import { whyNoCluster } from "../../tests/kubernetes-rig/start-cluster.ts";
import { useCluster } from "../../tests/kubernetes-rig/use-cluster.ts";

/** A cluster to measure on; disposing it ends it if it was started for that. */
export interface BenchCluster extends AsyncDisposable {
  readonly kubeconfig: string;
}

/** A cluster of our own from programs that were built before; or why there is none. */
export async function openCluster(): Promise<BenchCluster | string> {
  const reason = whyNoCluster();
  if (reason !== null) return `KUBECONFIG names no cluster, and ${reason}`;
  if (!hasBinary()) return "KUBECONFIG names no cluster, and npm run test:kubernetes has not built one yet";
  const used = await useCluster();
  return { kubeconfig: used.kubeconfig, [Symbol.asyncDispose]: () => used.leave() };
}
