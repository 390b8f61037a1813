import { RolloutError } from "../../../base/rollout-error.ts";
import { hasStatus, KubeError, wrapKubeError } from "../connection/kube-error.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import type { Pod } from "./pod.ts";
import { sessionLabel } from "./pod-labels.ts";
import { quotaAnswer } from "./quota-answer.ts";

const quotaPollMs = 2000;
const longestQuotaPollMs = 15_000;
const contendedMs = 300;
const never = new AbortController().signal;

export interface CreatePodOptions {
  readonly body: Record<string, unknown>;
  readonly name: string;
  /** Bounds the wait for quota; a call that was made is waited for all the same. */
  readonly signal: AbortSignal;
  readonly onWait: (words: string) => void;
}

type CreateGround = Pick<KubernetesGround, "client" | "clock" | "podsPath" | "session">;

/** Creates a Pod, waiting for quota while there is none; rejects with what is wrong with it. */
export async function createPod(ground: CreateGround, options: CreatePodOptions): Promise<Pod> {
  const { clock } = ground;
  for (let waitMs = quotaPollMs; ;) {
    options.signal.throwIfAborted();
    try {
      return await postPod(ground, options);
    } catch (error) {
      if (isContended(error)) {
        await clock.sleep(contendedMs, options.signal);
        continue;
      }
      if (quotaAnswer(error) !== "full") throw refusalOfPod(error, options.name);
      options.onWait(`waits for quota: ${(error as KubeError).message}`);
      await clock.sleep(waitMs, options.signal);
      waitMs = Math.min(2 * waitMs, longestQuotaPollMs);
    }
  }
}

// Others count on the same quota at the same moment, at another API server for one; nothing was made.
function isContended(error: unknown): boolean {
  return hasStatus(error, 409) && (error as KubeError).reason === "Conflict";
}

// Not to be aborted: what the cluster has begun to create would otherwise belong to nobody.
async function postPod(ground: CreateGround, { body, name }: CreatePodOptions): Promise<Pod> {
  const { client, podsPath, session } = ground;
  try {
    return await client.json<Pod>({ method: "POST", path: podsPath, json: body, signal: never });
  } catch (error) {
    if (!hasStatus(error, 409) || isContended(error)) throw error;
    // An answer that was lost: the first call has made it.
    const pod = await client.json<Pod>({ method: "GET", path: `${podsPath}/${name}`, signal: never });
    if (pod.metadata.labels?.[sessionLabel] !== session) throw error;
    return pod;
  }
}

function refusalOfPod(error: unknown, name: string): unknown {
  if (!(error instanceof KubeError)) return error;
  const what = `${name} did not start`;
  const told = `${what}: ${error.message}`;
  if (quotaAnswer(error) === "never") {
    return new RolloutError("resource_allocation_failed", told, {
      cause: error,
      hint: "the quota of the namespace is less than this one Pod asks for: raise it, or ask for less",
    });
  }
  if (hasStatus(error, 403) && /(minimum|maximum) .* usage|must specify|failed quota/.test(error.message)) {
    return new RolloutError("resource_allocation_failed", told, { cause: error });
  }
  const isSetting =
    hasStatus(error, 400, 404, 422) ||
    /violates PodSecurity|no PriorityClass|RuntimeClass|serviceaccount/i.test(error.message);
  if (isSetting && error.status !== null && error.status < 500) {
    return new RolloutError("config_invalid", told, {
      cause: error,
      hint: "look at provider_config and the namespace's rules",
    });
  }
  return wrapKubeError(error, "environment_start_failed", what);
}
