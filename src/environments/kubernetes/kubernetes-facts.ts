import { formatBytes } from "../../base/quantity.ts";
import { defaultPidsLimit, type CreateEnvironmentRequest, type FactValue } from "../environment.ts";
import type { KubernetesGround } from "./kubernetes-ground.ts";
import { mainContainer, type Pod } from "./pods/pod.ts";

/** What a trial's result records of its Pod. */
export function planFacts(
  { client, config, namespace, version }: KubernetesGround,
  { image, limits }: Pick<CreateEnvironmentRequest, "image" | "limits">,
  pod: Pod,
): { readonly [key: string]: FactValue } {
  const container = pod.status?.containerStatuses?.find(({ name }) => name === mainContainer);
  return {
    provider: "kubernetes",
    cluster: client.endpoint.server.host,
    cluster_version: version,
    namespace,
    pod: pod.metadata.name,
    node: pod.spec?.nodeName ?? null,
    image,
    image_id: container?.imageID ?? null,
    limits: {
      cpus: limits.cpus,
      memory: formatBytes(limits.memoryBytes),
      storage: formatBytes(limits.storageBytes),
      pids: limits.pids ?? defaultPidsLimit,
    },
    runtime_class: config.runtime_class ?? null,
  };
}
