import { startDeadline } from "../../../engine/deadline.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { listPodEvents } from "./list-pod-events.ts";
import { conditionOf, mainState, type Pod } from "./pod.ts";

const askMs = 5000;
// Nothing inside can send SIGKILL to the main process. Runtimes use 255 for a container whose end they did not see.
const foreignCodes: readonly number[] = [137, 255];

/** True when a Pod's main process ended by itself, as far as its status tells: nobody is known to have ended it. */
export function mayHaveEndedInside(pod: Pod): boolean {
  const { phase, reason = "" } = pod.status ?? {};
  const isWhole = phase === "Failed" || phase === "Succeeded";
  const isOthersDoing =
    reason !== "" ||
    pod.metadata.deletionTimestamp !== undefined ||
    conditionOf(pod, "DisruptionTarget")?.status === "True";
  if (!isWhole || isOthersDoing) return false;
  const { reason: how, exitCode } = mainState(pod)?.terminated ?? {};
  return (how === "Error" || how === "Completed") && exitCode !== undefined && !foreignCodes.includes(exitCode);
}

/** True when what ran in a Pod ended it; a node that did it, because the Pod's sandbox died for one, says so in an event. */
export async function wasEndedInside(
  ground: Pick<KubernetesGround, "client" | "clock" | "namespace">,
  pod: Pod | null,
  parent: AbortSignal,
): Promise<boolean> {
  if (pod === null || !mayHaveEndedInside(pod)) return false;
  using deadline = startDeadline({ clock: ground.clock, limitMs: askMs, parent, what: "asking who ended the Pod" });
  try {
    return (await listPodEvents(ground, pod.metadata.name, "reason=Killing", deadline.signal)).length === 0;
  } catch {
    parent.throwIfAborted();
    return true;
  }
}
