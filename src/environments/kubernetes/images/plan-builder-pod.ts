import { keeperAlone } from "../../guest/keeper.ts";
import type { KubernetesConfig } from "../kubernetes-config-schema.ts";
import { mergePatch } from "../pods/merge-patch.ts";
import { planMetadata, planPlace, pullPolicies } from "../pods/plan-pod.ts";
import { mainContainer } from "../pods/pod.ts";
import { secretPath, workshopPath } from "./builder-scripts.ts";

export interface BuilderPodOptions {
  readonly config: KubernetesConfig;
  readonly builder: NonNullable<KubernetesConfig["builder"]>;
  readonly name: string;
  readonly session: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The body that creates a Pod which waits for a build; it carries the labels of a trial's. */
export function planBuilderPod(options: BuilderPodOptions): Record<string, unknown> {
  const { config, builder } = options;
  const { image, env, secret, requests, limits } = builder;
  const container = {
    name: mainContainer,
    image,
    imagePullPolicy: pullPolicies[config.pull],
    command: keeperAlone,
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    resources: { requests, limits },
    securityContext: planSecurity(builder.privileged),
    volumeMounts: [
      { name: "workshop", mountPath: workshopPath },
      ...(secret === undefined ? [] : [{ name: "logins", mountPath: secretPath, readOnly: true }]),
    ],
  };
  const items = [{ key: ".dockerconfigjson", path: "config.json" }];
  const volumes = [
    { name: "workshop", emptyDir: {} },
    ...(secret === undefined ? [] : [{ name: "logins", secret: { secretName: secret, items } }]),
  ];
  const spec = { ...planPlace(config), containers: [container], volumes };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: planMetadata(options), spec };
  return builder.pod_patch === undefined ? pod : mergePatch(pod, builder.pod_patch);
}

// A builder without rights makes namespaces of its own, which the usual profiles forbid.
function planSecurity(isPrivileged: boolean): Record<string, unknown> {
  if (isPrivileged) return { privileged: true };
  return { seccompProfile: { type: "Unconfined" }, appArmorProfile: { type: "Unconfined" } };
}
