import { hasStatus } from "../connection/kube-error.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";

/** Has a Pod removed; one that is gone is fine. The cluster ends it within seconds, whether or not anybody waits. */
export async function removePod(
  { client, podsPath }: KubernetesGround,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    const json = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 1 };
    await client.json({ method: "DELETE", path: `${podsPath}/${name}`, json, signal });
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
  }
}
