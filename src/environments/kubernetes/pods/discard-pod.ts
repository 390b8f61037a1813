import { messageOf } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { removePod } from "./remove-pod.ts";

const removalLimitMs = 60_000;

/** Removes a Pod that nobody needs any more, in its own time; it never rejects, because something else has failed or is done. */
export async function discardPod(ground: KubernetesGround, name: string): Promise<void> {
  const limit = { clock: ground.clock, limitMs: removalLimitMs, parent: null, what: "removing the Pod" };
  using deadline = startDeadline(limit);
  try {
    await removePod(ground, name, deadline.signal);
  } catch (error) {
    ground.log.write("warn", `the Pod ${name} could not be removed: ${messageOf(error)}`);
  } finally {
    ground.watch.drop(name);
  }
}
