import { defaultPidsLimit, type FactValue, type ResourceLimits } from "../environment.ts";
import { enforcementOf } from "./check-limits.ts";
import type { PreparedGround } from "./local-ground.ts";
import type { Deviation } from "./local-image.ts";

const idWords = {
  private: "a range of ids that nobody else has",
  subordinate: "the caller as root and its subordinate ids",
  single: "the caller as root, no other ids",
} as const;

/** What a trial's result records of its environment. */
export function planFacts(
  { base, idMap, capabilities, config, host }: PreparedGround,
  limits: ResourceLimits,
  network: "host" | "none",
  deviations: readonly Deviation[],
): { readonly [key: string]: FactValue } {
  const enforcement = capabilities.limits;
  return {
    provider: "local",
    base: { kind: base.kind, description: base.description, key: base.key },
    isolation: {
      kind: "namespaces",
      ids: idWords[idMap.kind],
      namespaces: ["user", "mount", "pid", "ipc", "uts", ...(network === "none" ? ["net"] : [])],
      network,
      shared: ["kernel", ...(network === "host" ? ["network"] : [])],
      storage: config.storage,
    },
    limits: {
      cpus: { value: limits.cpus, enforcement: enforcementOf(limits.cpus, host.cpus, enforcement.cpus) },
      memory: {
        bytes: limits.memoryBytes,
        enforcement: enforcementOf(limits.memoryBytes, host.memoryBytes, enforcement.memory),
      },
      storage: { bytes: limits.storageBytes, enforcement: enforcement.storage },
      pids: { value: limits.pids ?? defaultPidsLimit, enforcement: enforcement.pids ?? "none" },
    },
    deviations: deviations.map(({ asked, done }) => ({ asked, done })),
  };
}
