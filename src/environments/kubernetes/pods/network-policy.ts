import type { NetworkPolicy } from "../../environment.ts";
import { hasStatus } from "../connection/kube-error.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { ownLabel, podLabel, sessionLabel } from "./pod-labels.ts";

/** Cuts a Pod off from every network, or gives it back; the policy goes with its Pod. */
export async function setPodNetwork(
  ground: KubernetesGround,
  pod: { readonly name: string; readonly uid: string },
  policy: NetworkPolicy,
  signal: AbortSignal,
): Promise<void> {
  const { client, namespace, session } = ground;
  const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;
  try {
    if (policy === "full") await client.json({ method: "DELETE", path: `${path}/${pod.name}`, signal });
    else {
      const json = {
        apiVersion: "networking.k8s.io/v1",
        kind: "NetworkPolicy",
        metadata: {
          name: pod.name,
          labels: { [ownLabel]: "kubernetes", [sessionLabel]: session },
          ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: pod.name, uid: pod.uid }],
        },
        spec: { podSelector: { matchLabels: { [podLabel]: pod.name } }, policyTypes: ["Ingress", "Egress"] },
      };
      await client.json({ method: "POST", path, json, signal });
    }
  } catch (error) {
    // It is as it should be already.
    if (!hasStatus(error, policy === "full" ? 404 : 409)) throw error;
  }
}
