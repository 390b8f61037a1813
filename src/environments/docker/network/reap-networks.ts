import { ownerOfLabels } from "../../../base/owner-labels.ts";
import { isOwnerAlive } from "../../../base/process-owner.ts";
import { messageOf } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { DockerGround } from "../docker-ground.ts";
import { findDeadGuards, unguardBridge } from "./bridge-guard.ts";
import { listNetworks, removeNetwork } from "./networks.ts";

const limitMs = 60_000;

/** Removes the networks of processes that have died, and the rules of bridges that are gone. */
export async function reapNetworks(
  { engine, host, clock, log }: Pick<DockerGround, "engine" | "host" | "clock" | "log">,
  /** Null where rules cannot be changed. */
  iptables: string | null,
): Promise<void> {
  // Not bound to the job, which may be over sooner.
  using deadline = startDeadline({ clock, limitMs, parent: null, what: "removing leftover networks" });
  const { signal } = deadline;
  try {
    for (const { Name, Labels } of await listNetworks(engine, signal)) {
      const owner = ownerOfLabels(Labels ?? {});
      if (owner === null || isOwnerAlive(owner, host, 0)) continue;
      await removeNetwork({ engine, clock }, Name, signal);
      log.write("info", `removed the network ${Name}, left by process ${owner.pid}`);
    }
    if (iptables === null) return;
    for (const mark of await findDeadGuards(iptables)) await unguardBridge(iptables, mark);
  } catch (error) {
    // The next start tries again.
    log.write("info", `leftover networks could not be removed: ${messageOf(error)}`);
  }
}
