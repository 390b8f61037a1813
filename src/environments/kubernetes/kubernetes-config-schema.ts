import { isIP } from "node:net";
import { z } from "zod";
import { priceKeys } from "../price-keys.ts";

const name = z.string().min(1);
const dnsName = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "expected a name of small letters, digits, dashes and dots")
  .max(253);
const namespace = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "expected a namespace: small letters, digits and dashes")
  .max(63);
const quantity = z.union([
  z.string().regex(/^\d+(\.\d+)?(m|[kMGTPE]|[KMGTPE]i)?$/, "expected a quantity, such as 1 or 500m"),
  z.number().nonnegative(),
]);
const labelKey = z
  .string()
  .regex(/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?$/, "expected the key of a label");
const labelText = z
  .string()
  .regex(/^([A-Za-z0-9]([-\w.]*[A-Za-z0-9])?)?$/, "expected the value of a label: letters, digits, dashes, dots")
  .max(63);
const anything = z.record(z.string(), z.unknown());
const seconds = z.number().positive();
const dollars = z.number().nonnegative();

// What belongs to us cannot be given away.
const foreignKey = labelKey.refine((key) => !/^rollout[.-]/.test(key), {
  error: "keys that begin with rollout are ours",
});

const toleration = z.strictObject({
  key: labelKey.optional(),
  operator: z.enum(["Equal", "Exists"]).optional(),
  value: z.string().optional(),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
  toleration_seconds: z.int().nonnegative().optional(),
});

const securityContext = z.strictObject({
  run_as_user: z.int().nonnegative().optional().describe("The user of everything in the Pod; the image's when absent."),
  run_as_group: z.int().nonnegative().optional(),
  run_as_non_root: z.boolean().optional().describe("Refuse to start as root."),
  fs_group: z.int().nonnegative().optional().describe("The group that owns the volumes."),
  read_only_root: z
    .boolean()
    .optional()
    .describe("Mount the image read-only; /tmp, /logs, /tests and /oracle stay writable."),
  privileged: z.boolean().optional(),
  allow_privilege_escalation: z.boolean().optional(),
  seccomp: z
    .union([z.enum(["RuntimeDefault", "Unconfined"]), z.strictObject({ localhost: name })])
    .optional()
    .describe("`RuntimeDefault`, `Unconfined` or `{ localhost: profile }`."),
  cap_add: z.array(name).default([]),
  cap_drop: z.array(name).default([]),
});

const volume = z
  .strictObject({
    mount_path: z
      .string()
      .regex(/^\//, "expected an absolute path")
      .refine((path) => !/^\/((logs|tests|oracle|run\/rollout)(\/.*)?)?\/*$/.test(path), {
        error:
          "expected another place: /, /logs, /tests, /oracle and /run/rollout are where trials keep their own files",
      }),
    sub_path: name.optional(),
    read_only: z.boolean().default(false),
    source: anything.describe(
      "A volume as a Pod's spec has it, without its name: `{ emptyDir: {} }`, `{ persistentVolumeClaim: { claimName: data } }`.",
    ),
  })
  .refine(({ source }) => Object.keys(source).length === 1, {
    path: ["source"],
    error: "expected exactly one kind of volume, such as emptyDir",
  });

const resourceClass = z.strictObject({
  requests: z
    .record(labelKey, quantity)
    .default({})
    .describe(
      "Added to what the task asks for: `{ nvidia.com/gpu: 1 }`; `cpu`, `memory` and `ephemeral-storage` replace it.",
    ),
  limits: z.record(labelKey, quantity).default({}),
  node_selector: z.record(labelKey, labelText).default({}),
  tolerations: z.array(toleration).default([]),
});

/** `provider_config` of the Kubernetes provider. */
export const kubernetesConfigSchema = z
  .strictObject({
    kubeconfig: name
      .optional()
      .describe(
        "A kubeconfig file, relative to the job file; KUBECONFIG, ~/.kube/config or the Pod's own account when absent.",
      ),
    context: name.optional().describe("The context of the kubeconfig; its current one when absent."),
    namespace: namespace.optional().describe("Where the Pods go; the context's namespace when absent."),
    service_account: dnsName.optional().describe("The account of the Pods; the namespace's default when absent."),
    mount_service_account_token: z.boolean().default(false).describe("Give the Pods the token of their account."),
    node_selector: z.record(labelKey, labelText).default({}),
    tolerations: z.array(toleration).default([]),
    affinity: anything.optional().describe("As a Pod's spec has it."),
    runtime_class: dnsName.optional().describe("The RuntimeClass, such as `gvisor`."),
    priority_class: dnsName.optional(),
    scheduler: dnsName.optional().describe("The scheduler's name; the cluster's default when absent."),
    image_pull_secrets: z.array(dnsName).default([]),
    pull: z.enum(["missing", "always", "never"]).default("missing").describe("When a node pulls an image."),
    security_context: securityContext.prefault({}),
    resources: resourceClass.prefault({}).describe("What every Pod asks for beside what its task does."),
    requests_ratio: z
      .number()
      .positive()
      .max(1)
      .default(1)
      .describe("The part of the limits of processors and memory that is requested; below 1 nodes are overcommitted."),
    volumes: z.array(volume).default([]),
    env: z.record(name, z.string()).default({}).describe("Variables of every Pod."),
    labels: z.record(foreignKey, labelText).default({}),
    annotations: z.record(foreignKey, z.string()).default({}),
    host_aliases: z
      .array(
        z.strictObject({
          ip: z.string().refine((value) => isIP(value) !== 0, { error: "expected an IP address" }),
          hostnames: z.array(dnsName).min(1),
        }),
      )
      .default([]),
    dns: z.array(z.string().refine((value) => isIP(value) !== 0, { error: "expected an IP address" })).default([]),
    pod_patch: anything
      .optional()
      .describe("Merged into the Pod as `kubectl patch --type=merge` would; lists are replaced."),
    registry: z
      .string()
      .regex(
        /^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)*$/,
        "expected a registry and a path in it, such as registry.example.com/evals",
      )
      .optional()
      .describe("Where images of Dockerfiles are pushed to and pulled from: `registry.example.com/evals`."),
    registry_insecure: z.boolean().default(false).describe("Speak to the registry without TLS."),
    build: z
      .strictObject({
        with: z
          .enum(["docker", "podman", "buildah"])
          .optional()
          .describe("The builder; the first that works when absent."),
        args: z.record(name, z.string()).default({}).describe("Values for the Dockerfile's ARG."),
        target: name.optional().describe("The stage to build; the last one when absent."),
        platform: name.optional().describe("What images are built for, such as `linux/amd64`."),
      })
      .prefault({})
      .describe("How Dockerfiles are built."),
    builder: z
      .strictObject({
        kind: z.enum(["buildkit", "buildah"]).describe("What the image holds: BuildKit or Buildah."),
        image: name.describe("The builder's image: `moby/buildkit:rootless`, `quay.io/buildah/stable`."),
        privileged: z.boolean().default(false).describe("Run it with all rights on its node."),
        secret: dnsName
          .optional()
          .describe(
            "A docker-registry secret of the namespace, for what is pulled and pushed; this machine's own logins when absent.",
          ),
        env: z.record(name, z.string()).default({}).describe("Variables of the builder."),
        requests: z
          .record(labelKey, quantity)
          .default({})
          .describe("What its Pod requests: `{ cpu: 2, memory: 4Gi }`."),
        limits: z.record(labelKey, quantity).default({}),
        pod_patch: anything.optional().describe("Merged into its Pod."),
      })
      .optional()
      .describe("Build Dockerfiles in Pods of the cluster, with nothing on this machine."),
    network_policies: z
      .boolean()
      .default(false)
      .describe(
        "The cluster's network plugin enforces NetworkPolicy, so that `environment.network: none` can be asked for.",
      ),
    schedule_limit_sec: seconds.default(300).describe("How long a Pod may wait for a node or for quota."),
    start_limit_sec: seconds.default(600).describe("How long pulling and starting may take once it has a node."),
    deadline_sec: z
      .int()
      .positive()
      .default(86_400)
      .describe("The cluster ends every Pod after that long, kept ones too."),
    reconnect_limit_sec: seconds.default(300).describe("How long a lost connection to a Pod that runs is made again."),
    rate: z
      .strictObject({ calls_per_second: z.number().positive().default(50), burst: z.int().positive().default(100) })
      .prefault({})
      .describe("The pace of calls to the API server."),
    price_per_cpu_hour: dollars.optional().describe("US dollars for a processor for an hour, by what is requested."),
    price_per_gib_hour: dollars
      .optional()
      .describe("US dollars for a GiB of memory for an hour, by what is requested."),
    ...priceKeys,
  })
  .refine(({ build, builder }) => build.with === undefined || builder === undefined, {
    path: ["build", "with"],
    error: "expected either a builder of this machine (build.with) or one in the cluster (builder)",
  });

export type KubernetesConfig = z.infer<typeof kubernetesConfigSchema>;
