import type { Host } from "../base/host.ts";
import { isOwnerAlive, readOwner, type ProcessOwner } from "../base/process-owner.ts";
import type { EnvironmentProvider, FoundEnvironment } from "../environments/environment.ts";

/** Labels that say whose an environment is. */
export function ownerLabels(host: Host): Record<string, string> {
  const { pid, bootId, hostname, startTicks } = readOwner(host);
  return {
    "rollout.owner-pid": String(pid),
    "rollout.owner-boot": bootId,
    "rollout.owner-host": hostname,
    ...(startTicks === null ? {} : { "rollout.owner-start": String(startTicks) }),
  };
}

/** Whose an environment is; null when it is none of ours. */
export function ownerOfEnvironment({ labels }: FoundEnvironment): ProcessOwner | null {
  const pid = Number(labels["rollout.owner-pid"]);
  const bootId = labels["rollout.owner-boot"];
  const hostname = labels["rollout.owner-host"];
  if (!Number.isInteger(pid) || pid <= 0 || bootId === undefined || hostname === undefined) return null;
  const start = labels["rollout.owner-start"];
  return { pid, bootId, hostname, startTicks: start === undefined ? null : Number(start) };
}

/** Whether the process that made an environment lives, as far as this machine can tell; one of another machine is taken for alive. */
export function isOwned(found: FoundEnvironment, host: Host): boolean {
  const owner = ownerOfEnvironment(found);
  return owner !== null && isOwnerAlive(owner, host, 0);
}

/** What processes of this machine left that were killed; what was kept on purpose, and what is not ours, is not among it. */
export async function findAbandoned(
  provider: EnvironmentProvider,
  host: Host,
  signal: AbortSignal,
): Promise<FoundEnvironment[]> {
  const found = await provider.findEnvironments({}, signal);
  return found.filter((entry) => !entry.isKept && ownerOfEnvironment(entry) !== null && !isOwned(entry, host));
}
