import type { KubernetesConfig } from "../kubernetes-config-schema.ts";

// What a cluster speaks of when it refuses a Pod, and the setting that it comes from.
const topics: readonly (readonly [RegExp, keyof KubernetesConfig])[] = [
  [/serviceaccount/i, "service_account"],
  [/PriorityClass/i, "priority_class"],
  [/RuntimeClass/i, "runtime_class"],
  [/violates PodSecurity|securityContext/, "security_context"],
  [/^namespaces "|namespace .* is being terminated/, "namespace"],
  [/spec\.nodeSelector/, "node_selector"],
  [/spec\.tolerations/, "tolerations"],
  [/spec\.affinity/, "affinity"],
  [/spec\.(volumes|containers\[0\]\.volumeMounts)/, "volumes"],
  [/spec\.hostAliases/, "host_aliases"],
  [/spec\.dnsConfig/, "dns"],
  [/spec\.containers\[0\]\.env/, "env"],
  [/spec\.containers\[0\]\.resources/, "resources"],
  [/metadata\.labels/, "labels"],
  [/metadata\.annotations/, "annotations"],
];

/** The key of provider_config that a refusal speaks of; empty when that is not known. */
export function settingOf(words: string, config: KubernetesConfig): string {
  const named = topics.find(([topic, key]) => topic.test(words) && isSet(config[key]))?.[1];
  return named ?? (config.pod_patch === undefined ? "" : "pod_patch");
}

// Lists and tables are there by default, with nothing in them.
function isSet(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value !== undefined;
  return Object.values(value).some(isSet);
}
