import { randomUUID } from "node:crypto";
import { startDeadline } from "../../../engine/deadline.ts";
import type { CreateEnvironmentRequest } from "../../environment.ts";
import { isPassing, KubeError } from "../connection/kube-error.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { planPod, plannedVolumePaths } from "./plan-pod.ts";
import { podName } from "./pod-labels.ts";
import { quotaAnswer } from "./quota-answer.ts";

const limitMs = 10_000;
// The same for all Pods of a job, whatever their image and limits are.
const forAll =
  /violates PodSecurity|no PriorityClass|RuntimeClass|serviceaccount|strict decoding|cannot be handled as/i;
const indefinite: readonly (number | null)[] = [401, 408, 409];
// A name that is none is for the trials of its task, and a webhook that only judges what is really made says nothing.
const noRefusal = /spec\.containers\[0\]\.image: |does not support dry run/;

/** What tells the Pods of a job from one another. */
export type WantedPod = Pick<CreateEnvironmentRequest, "image" | "limits">;

type TryGround = Pick<KubernetesGround, "client" | "clock" | "config" | "podsPath" | "session">;

/**
 * Lets a cluster judge Pods without making any, in order until it takes one: usually a single call. Resolves with its words
 * when it takes none of them; null when it takes one, has no room at the moment or gives no definite answer.
 */
export async function tryPods(
  ground: TryGround,
  pods: readonly WantedPod[],
  signal: AbortSignal,
): Promise<string | null> {
  using deadline = startDeadline({ clock: ground.clock, limitMs, parent: signal, what: "trying Pods" });
  let first: string | null = null;
  for (const pod of pods) {
    const words = await tryPod(ground, pod, deadline.signal);
    signal.throwIfAborted();
    if (words === null) return null;
    first ??= words;
    if (forAll.test(words)) break;
  }
  return first;
}

async function tryPod(ground: TryGround, wanted: WantedPod, signal: AbortSignal): Promise<string | null> {
  const { client, config, podsPath, session } = ground;
  const name = podName("try", randomUUID());
  const volumePaths = plannedVolumePaths(config);
  const json = planPod({ request: { ...wanted, labels: {} }, config, name, session, volumePaths });
  // Otherwise a key of pod_patch that is misspelt would be left out in silence.
  const path = `${podsPath}?dryRun=All&fieldValidation=Strict`;
  try {
    await client.jsonOnce({ method: "POST", path, json, signal });
    return null;
  } catch (error) {
    return isRefusal(error)
      ? error.message.replace(`pods "${name}" is forbidden: `, "").replace(` "${name}"`, "")
      : null;
  }
}

function isRefusal(error: unknown): error is KubeError {
  if (!(error instanceof KubeError) || isPassing(error) || indefinite.includes(error.status)) return false;
  return quotaAnswer(error) !== "full" && !noRefusal.test(error.message);
}
