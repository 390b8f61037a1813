import { describe, expect, test } from "vitest";
import { kubernetesConfigSchema } from "../kubernetes-config-schema.ts";
import { planPod, plannedVolumePaths } from "./plan-pod.ts";
import { podName } from "./pod-labels.ts";

const limits = { cpus: 1.5, memoryBytes: 2e9, storageBytes: 1e10 };

function plan(settings: Record<string, unknown> = {}): Record<string, unknown> {
  const config = kubernetesConfigSchema.parse(settings);
  const request = { image: "an/image:1", limits, labels: { "rollout.trial": "a trial with spaces" } };
  return planPod({ request, config, name: "pod-1", session: "s1", volumePaths: plannedVolumePaths(config) });
}

test("a Pod asks for just its limits, is never restarted, ends by itself and gets no token", () => {
  expect(plan()).toMatchObject({
    metadata: { name: "pod-1", labels: { "rollout.trial": expect.stringMatching(/^hash-[0-9a-f]{40}$/) as string } },
    spec: {
      restartPolicy: "Never",
      activeDeadlineSeconds: expect.any(Number) as number,
      automountServiceAccountToken: false,
      containers: [
        {
          image: "an/image:1",
          resources: {
            requests: { cpu: "1500m", memory: "2000000000", "ephemeral-storage": "10000000000" },
            limits: { cpu: "1500m", memory: "2000000000", "ephemeral-storage": "10000000000" },
          },
        },
      ],
      volumes: [],
    },
  });
});

test("what says where Pods run reaches them, that of the resource class too", () => {
  const affinity = { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };
  const { spec } = plan({
    service_account: "evals",
    mount_service_account_token: true,
    node_selector: { pool: "evals" },
    tolerations: [{ key: "evals", operator: "Exists", effect: "NoExecute", toleration_seconds: 5 }],
    affinity,
    runtime_class: "gvisor",
    priority_class: "low",
    image_pull_secrets: ["login"],
    host_aliases: [{ ip: "10.0.0.7", hostnames: ["models"] }],
    resources: {
      requests: { "nvidia.com/gpu": 1 },
      node_selector: { gpu: "yes" },
      tolerations: [{ key: "nvidia.com/gpu", operator: "Exists" }],
    },
  });
  expect(spec).toMatchObject({
    serviceAccountName: "evals",
    automountServiceAccountToken: true,
    nodeSelector: { pool: "evals", gpu: "yes" },
    tolerations: [
      { key: "evals", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 },
      { key: "nvidia.com/gpu", operator: "Exists" },
    ],
    affinity,
    runtimeClassName: "gvisor",
    priorityClassName: "low",
    imagePullSecrets: [{ name: "login" }],
    hostAliases: [{ ip: "10.0.0.7", hostnames: ["models"] }],
    containers: [
      { resources: { requests: { "nvidia.com/gpu": 1, cpu: "1500m" }, limits: { "nvidia.com/gpu": 1, cpu: "1500m" } } },
    ],
  });
});

test("who may not write to the root gets volumes where trials put things", () => {
  const { spec } = plan({ security_context: { run_as_user: 1000, run_as_non_root: true, read_only_root: true } });
  expect(spec).toMatchObject({
    containers: [
      {
        securityContext: { runAsUser: 1000, runAsNonRoot: true, readOnlyRootFilesystem: true },
        volumeMounts: expect.arrayContaining([{ name: "trial-logs", mountPath: "/logs" }]) as unknown,
      },
    ],
    volumes: expect.arrayContaining([{ name: "trial-tests", emptyDir: {} }]) as unknown,
  });
});

test("a patch changes whatever the settings have no key for", () => {
  expect(plan({ pod_patch: { spec: { shareProcessNamespace: true } } })).toMatchObject({
    spec: { shareProcessNamespace: true, restartPolicy: "Never" },
  });
});

describe("the name of a Pod", () => {
  test.each(["x".repeat(200), "Ünïcode & spaces", "", "-dash-", "ends-with-dash-".repeat(5)])(
    "is safe: %j",
    (given) => {
      const [one, other] = [podName(given, "0A-b1"), podName(given, "c2")];
      for (const name of [one, other]) expect(name).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
      expect(one).not.toBe(other);
    },
  );
});
