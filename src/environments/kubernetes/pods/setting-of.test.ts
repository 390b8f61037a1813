import { expect, test } from "vitest";
import { kubernetesConfigSchema } from "../kubernetes-config-schema.ts";
import { settingOf } from "./setting-of.ts";

const account = 'error looking up service account evals/none: serviceaccount "none" not found';
const security = 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false';
const patch = { pod_patch: { spec: {} } };

test.for([
  [account, { service_account: "none" }, "service_account"],
  [account, { service_account: "none", ...patch }, "service_account"],
  [account, patch, "pod_patch"],
  [account, {}, ""],
  ["no PriorityClass with name none was found", { priority_class: "none" }, "priority_class"],
  ['pod rejected: RuntimeClass "none" not found', { runtime_class: "none" }, "runtime_class"],
  [security, { security_context: { run_as_user: 1 } }, "security_context"],
  [security, {}, ""],
  ['namespaces "nowhere" not found', { namespace: "nowhere" }, "namespace"],
  ["spec.tolerations[0].effect: Invalid value", { tolerations: [{ operator: "Exists" }] }, "tolerations"],
  ['strict decoding error: unknown field "spec.hostNetwrok"', patch, "pod_patch"],
  ["exceeded quota: few", { node_selector: { a: "b" } }, ""],
] as const)("%s with %o speaks of %s", ([words, config, key]) => {
  expect(settingOf(words, kubernetesConfigSchema.parse(config))).toBe(key);
});
