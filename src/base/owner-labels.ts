import type { Host } from "./host.ts";
import { readOwner, type ProcessOwner } from "./process-owner.ts";

/** Labels that say whose something outside of this process is. */
export function ownerLabels(host: Host): Record<string, string> {
  const { pid, bootId, hostname, startTicks } = readOwner(host);
  return {
    "rollout.owner-pid": String(pid),
    "rollout.owner-boot": bootId,
    "rollout.owner-host": hostname,
    ...(startTicks === null ? {} : { "rollout.owner-start": String(startTicks) }),
  };
}

/** Whose something with these labels is; null when it is none of ours. */
export function ownerOfLabels(labels: Readonly<Record<string, string>>): ProcessOwner | null {
  const pid = Number(labels["rollout.owner-pid"]);
  const bootId = labels["rollout.owner-boot"];
  const hostname = labels["rollout.owner-host"];
  if (!Number.isInteger(pid) || pid <= 0 || bootId === undefined || hostname === undefined) return null;
  const start = labels["rollout.owner-start"];
  return { pid, bootId, hostname, startTicks: start === undefined ? null : Number(start) };
}
