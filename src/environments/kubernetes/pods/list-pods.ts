import type { FoundEnvironment } from "../../environment.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import type { Pod } from "./pod.ts";
import { givenLabels, keptLabel, ownLabel, selectorOf } from "./pod-labels.ts";

/** Our Pods that carry all the given labels, whoever made them; those that are going already are left out. */
export async function listPods(
  { client, podsPath }: KubernetesGround,
  labels: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<FoundEnvironment[]> {
  const found: FoundEnvironment[] = [];
  let next = "";
  do {
    const query = new URLSearchParams({
      labelSelector: selectorOf({ ...labels, [ownLabel]: "kubernetes" }),
      limit: "500",
    });
    if (next !== "") query.set("continue", next);
    const page = await client.json<{ metadata: { continue?: string }; items: readonly Pod[] }>({
      method: "GET",
      path: `${podsPath}?${query.toString()}`,
      signal,
    });
    for (const { metadata } of page.items) {
      const given = givenLabels(metadata.annotations);
      const isMeant = Object.entries(labels).every(([key, value]) => given[key] === value);
      if (!isMeant || metadata.deletionTimestamp !== undefined) continue;
      found.push({ id: metadata.name, labels: given, isKept: metadata.labels?.[keptLabel] === "true" });
    }
    next = page.metadata.continue ?? "";
  } while (next !== "");
  return found;
}
