import { startDeadline } from "../../../engine/deadline.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { listPodEvents } from "./list-pod-events.ts";
import { conditionOf, mainState, type Pod } from "./pod.ts";

const askMs = 5000;
// What the keeper ends with when it is told to.
const toldCode = 143;
// What it ends with when it cannot sleep any more; from here on codes are those of runtimes and of signals.
const firstForeignCode = 126;

/** True when a Pod's main process ended by itself, as far as its status tells: nobody is known to have ended it. */
export function mayHaveEndedInside(pod: Pod): boolean {
  const { phase, reason = "" } = pod.status ?? {};
  const isWhole = phase === "Failed" || phase === "Succeeded";
  const isOthersDoing =
    reason !== "" ||
    pod.metadata.deletionTimestamp !== undefined ||
    conditionOf(pod, "DisruptionTarget")?.status === "True";
  if (!isWhole || isOthersDoing) return false;
  const { reason: how, exitCode = firstForeignCode } = mainState(pod)?.terminated ?? {};
  return (how === "Error" || how === "Completed") && (exitCode === toldCode || exitCode < firstForeignCode);
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
