import type { Host } from "../base/host.ts";
import { ownerOfLabels } from "../base/owner-labels.ts";
import { isOwnerAlive, type ProcessOwner } from "../base/process-owner.ts";
import type { EnvironmentProvider, FoundEnvironment } from "../environments/environment.ts";

/** Whose an environment is; null when it is none of ours. */
export function ownerOfEnvironment({ labels }: FoundEnvironment): ProcessOwner | null {
  return ownerOfLabels(labels);
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
