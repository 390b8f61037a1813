import type { ResourceLimits } from "../environment.ts";
import { priceOf } from "../price-keys.ts";
import { parseQuantity } from "../../base/quantity.ts";
import type { KubernetesConfig } from "./kubernetes-config-schema.ts";
import { planResources } from "./pods/plan-pod.ts";

/** US dollars that an hour of a Pod costs, by what it requests. */
export function priceOfPod(limits: ResourceLimits, config: KubernetesConfig): number {
  const { requests } = planResources(limits, config);
  const cpus = parseQuantity(String(requests["cpu"])) ?? 0;
  const gib = (parseQuantity(String(requests["memory"])) ?? 0) / 2 ** 30;
  return priceOf(config) + cpus * (config.price_per_cpu_hour ?? 0) + gib * (config.price_per_gib_hour ?? 0);
}
