import type { CreateEnvironmentRequest } from "../../environment.ts";
import { keeperAlone } from "../../guest/keeper.ts";
import { plumbingPath } from "../commands/pod-commands.ts";
import type { KubernetesConfig } from "../kubernetes-config-schema.ts";
import { mergePatch } from "./merge-patch.ts";
import { mainContainer } from "./pod.ts";
import { labelsAnnotation, labelValues, ownLabel, podLabel, sessionLabel } from "./pod-labels.ts";

/** Where trials put things; who may not write to the root of the image gets a volume there. */
export const trialPaths: readonly string[] = ["/logs", "/tests", "/oracle"];

/** When a node pulls an image, in the cluster's words. */
export const pullPolicies = { missing: "IfNotPresent", always: "Always", never: "Never" } as const;

export interface PodPlanOptions {
  readonly request: Pick<CreateEnvironmentRequest, "image" | "limits" | "labels">;
  readonly config: KubernetesConfig;
  readonly name: string;
  readonly session: string;
  /** The paths that are volumes, because the user inside may not make them. */
  readonly volumePaths: readonly string[];
}

/** The body that creates a Pod which waits for commands. */
export function planPod(options: PodPlanOptions): Record<string, unknown> {
  const { request, config, name, session } = options;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: planMetadata({ config, name, session, labels: request.labels }),
    spec: { ...planPlace(config), containers: [planContainer(options)], volumes: planVolumes(options) },
  };
  return config.pod_patch === undefined ? pod : mergePatch(pod, config.pod_patch);
}

/** What tells our Pods from others, and whose they are. */
export function planMetadata(options: {
  readonly config: KubernetesConfig;
  readonly name: string;
  readonly session: string;
  readonly labels: Readonly<Record<string, string>>;
}): Record<string, unknown> {
  const { config, name, session, labels } = options;
  const own = { [ownLabel]: "kubernetes", [sessionLabel]: session, [podLabel]: name };
  return {
    name,
    labels: { ...config.labels, ...labelValues(labels), ...own },
    annotations: { ...config.annotations, [labelsAnnotation]: JSON.stringify(labels) },
  };
}

/** Where a Pod runs and as whom. */
export function planPlace(config: KubernetesConfig): Record<string, unknown> {
  const { resources, security_context: security } = config;
  return {
    restartPolicy: "Never",
    // The main process ends at once when it is told to.
    terminationGracePeriodSeconds: 1,
    activeDeadlineSeconds: config.deadline_sec,
    automountServiceAccountToken: config.mount_service_account_token,
    enableServiceLinks: false,
    ...(config.service_account === undefined ? {} : { serviceAccountName: config.service_account }),
    nodeSelector: { ...config.node_selector, ...resources.node_selector },
    tolerations: [...config.tolerations, ...resources.tolerations].map(({ toleration_seconds, ...rest }) => ({
      ...rest,
      ...(toleration_seconds === undefined ? {} : { tolerationSeconds: toleration_seconds }),
    })),
    ...(config.affinity === undefined ? {} : { affinity: config.affinity }),
    ...(config.runtime_class === undefined ? {} : { runtimeClassName: config.runtime_class }),
    ...(config.priority_class === undefined ? {} : { priorityClassName: config.priority_class }),
    ...(config.scheduler === undefined ? {} : { schedulerName: config.scheduler }),
    imagePullSecrets: config.image_pull_secrets.map((name) => ({ name })),
    hostAliases: config.host_aliases,
    ...(config.dns.length === 0 ? {} : { dnsPolicy: "None", dnsConfig: { nameservers: config.dns } }),
    ...(security.fs_group === undefined ? {} : { securityContext: { fsGroup: security.fs_group } }),
  };
}

function planContainer({ request, config, volumePaths }: PodPlanOptions): Record<string, unknown> {
  return {
    name: mainContainer,
    image: request.image,
    imagePullPolicy: pullPolicies[config.pull],
    command: keeperAlone,
    env: Object.entries(config.env).map(([name, value]) => ({ name, value })),
    resources: planResources(request.limits, config),
    securityContext: planSecurity(config),
    volumeMounts: [
      ...(volumePaths.length === 0 ? [] : [{ name: "rollout", mountPath: plumbingPath }]),
      ...volumePaths.map((mountPath) => ({ name: volumeName(mountPath), mountPath })),
      ...config.volumes.map(({ mount_path, sub_path, read_only }, index) => ({
        name: `volume-${index}`,
        mountPath: mount_path,
        readOnly: read_only,
        ...(sub_path === undefined ? {} : { subPath: sub_path }),
      })),
    ],
  };
}

function planVolumes({ config, volumePaths }: PodPlanOptions): Record<string, unknown>[] {
  return [
    // Who may write to the root needs none; a kubelet looks for a Pod's first volume only every 300 ms.
    ...(volumePaths.length === 0 ? [] : [{ name: "rollout", emptyDir: {} }]),
    ...volumePaths.map((path) => ({ name: volumeName(path), emptyDir: {} })),
    ...config.volumes.map(({ source }, index) => ({ name: `volume-${index}`, ...source })),
  ];
}

function volumeName(path: string): string {
  return `trial${path.replaceAll("/", "-")}`;
}

/** What a Pod asks for: the task's limits, and what the settings add. */
export function planResources(
  limits: CreateEnvironmentRequest["limits"],
  { resources, requests_ratio: ratio }: Pick<KubernetesConfig, "resources" | "requests_ratio">,
): { readonly requests: Record<string, string | number>; readonly limits: Record<string, string | number> } {
  const storage = String(Math.ceil(limits.storageBytes));
  const amounts = (part: number): Record<string, string> => ({
    cpu: `${Math.max(1, Math.round(limits.cpus * part * 1000))}m`,
    memory: String(Math.ceil(limits.memoryBytes * part)),
    "ephemeral-storage": storage,
  });
  // A cluster wants extended resources to be the same in both.
  return {
    requests: { ...amounts(ratio), ...resources.requests },
    limits: { ...amounts(1), ...extended(resources.requests), ...resources.limits },
  };
}

function extended(requests: Readonly<Record<string, string | number>>): Record<string, string | number> {
  return Object.fromEntries(Object.entries(requests).filter(([name]) => name.includes("/")));
}

function planSecurity({ security_context: security }: KubernetesConfig): Record<string, unknown> {
  const { seccomp, cap_add, cap_drop } = security;
  const given = {
    runAsUser: security.run_as_user,
    runAsGroup: security.run_as_group,
    runAsNonRoot: security.run_as_non_root,
    readOnlyRootFilesystem: security.read_only_root,
    privileged: security.privileged,
    allowPrivilegeEscalation: security.allow_privilege_escalation,
    seccompProfile:
      seccomp === undefined
        ? undefined
        : typeof seccomp === "string"
          ? { type: seccomp }
          : { type: "Localhost", localhostProfile: seccomp.localhost },
    capabilities: cap_add.length + cap_drop.length === 0 ? undefined : { add: cap_add, drop: cap_drop },
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The paths that must be volumes, as far as the settings tell. */
export function plannedVolumePaths({ security_context: security }: KubernetesConfig): readonly string[] {
  if (security.read_only_root) return ["/tmp", ...trialPaths];
  const isNonRoot = (security.run_as_user ?? 0) > 0 || security.run_as_non_root === true;
  return isNonRoot ? trialPaths : [];
}
