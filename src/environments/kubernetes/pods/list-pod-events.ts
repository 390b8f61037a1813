import type { KubernetesGround } from "../kubernetes-ground.ts";

/** Something that a node or the cluster noted of a Pod. */
export interface PodEvent {
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
}

/** What was noted of a Pod, with that selector, as far as this account may see it; rejects only when the signal is aborted. */
export async function listPodEvents(
  { client, namespace }: Pick<KubernetesGround, "client" | "namespace">,
  name: string,
  selector: string,
  signal: AbortSignal,
): Promise<readonly PodEvent[]> {
  const fields = encodeURIComponent(`involvedObject.name=${name},${selector}`);
  const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=${fields}`;
  try {
    return (await client.json<{ items: readonly PodEvent[] }>({ method: "GET", path, signal })).items;
  } catch {
    // It is a courtesy, for which no account needs a right.
    signal.throwIfAborted();
    return [];
  }
}
