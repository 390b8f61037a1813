import { RolloutError } from "../../base/rollout-error.ts";
import type { Problem } from "../../base/problem.ts";
import type { Redactor } from "../../base/redactor.ts";
import { hasStatus, wrapKubeError } from "./connection/kube-error.ts";
import type { KubernetesGround } from "./kubernetes-ground.ts";
import { settingOf } from "./pods/setting-of.ts";
import { tryPods, type WantedPod } from "./pods/try-pods.ts";

interface Permission {
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly group?: string;
}

const needed: readonly Permission[] = [
  ...["create", "get", "list", "watch", "delete", "patch"].map((verb) => ({ verb, resource: "pods" })),
  ...["create", "get"].map((verb) => ({ verb, resource: "pods", subresource: "exec" })),
];

export interface CheckClusterOptions {
  /** The Pods that are to be made, of each kind one. */
  readonly pods: readonly WantedPod[];
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
}

/** Asks whether we may do what we need, whether all that the settings name is there, and whether Pods like ours are taken. */
export async function checkCluster(ground: KubernetesGround, options: CheckClusterOptions): Promise<readonly string[]> {
  const { pods, redactor, signal } = options;
  const { config } = ground;
  try {
    const [missing, forbidden, refused] = await Promise.all([
      findMissing(ground, signal),
      findForbidden(ground, signal),
      tryPods(ground, pods, signal),
    ]);
    if (missing.length > 0) {
      throw new RolloutError(
        "config_invalid",
        "provider_config names what the cluster does not have; nothing was started",
        { problems: missing },
      );
    }
    if (forbidden !== null) throw forbidden;
    if (refused !== null) {
      throw new RolloutError(
        "config_invalid",
        "the cluster takes no Pods as this job makes them; nothing was started",
        {
          problems: [problemAt(settingOf(refused, config), redactor.text(refused))],
          hint: "look at provider_config and the namespace's rules",
        },
      );
    }
  } catch (error) {
    signal.throwIfAborted();
    throw wrapKubeError(error, "provider_unavailable", "asking the cluster");
  }
  if (config.network_policies) return [];
  return ["environment.network: none: provider_config.network_policies, with a network plugin that enforces them"];
}

async function findForbidden(ground: KubernetesGround, signal: AbortSignal): Promise<RolloutError | null> {
  const { client, namespace, config } = ground;
  const wanted: readonly Permission[] = config.network_policies
    ? [
        ...needed,
        ...["create", "delete"].map((verb) => ({ verb, resource: "networkpolicies", group: "networking.k8s.io" })),
      ]
    : needed;
  const answers = await Promise.all(
    wanted.map(async ({ verb, resource, subresource, group = "" }) => {
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
      const resourceAttributes = { namespace, verb, resource, subresource, group };
      const json = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes },
      };
      const { status } = await client.json<{ status: { allowed: boolean } }>({ method: "POST", path, json, signal });
      return status.allowed ? [] : [`${verb} ${[resource, subresource].filter(Boolean).join("/")}`];
    }),
  );
  const missing = answers.flat();
  if (missing.length === 0) return null;
  return new RolloutError(
    "provider_unavailable",
    `this account may not ${missing.join(", ")} in the namespace ${namespace}`,
    {
      // The same answer is given for a namespace that is not there, which such an account may not look up.
      hint: `give it the Role of the guide on Kubernetes${missing.length < wanted.length ? "" : `, and see whether there is a namespace ${namespace} at all`}`,
    },
  );
}

// What we may not see may be there all the same.
async function findMissing({ client, namespace, config }: KubernetesGround, signal: AbortSignal): Promise<Problem[]> {
  const looks: readonly [string, string, string | undefined][] = [
    ["namespace", `/api/v1/namespaces/${namespace}`, namespace],
    [
      "service_account",
      `/api/v1/namespaces/${namespace}/serviceaccounts/${config.service_account}`,
      config.service_account,
    ],
    ["priority_class", `/apis/scheduling.k8s.io/v1/priorityclasses/${config.priority_class}`, config.priority_class],
    ["runtime_class", `/apis/node.k8s.io/v1/runtimeclasses/${config.runtime_class}`, config.runtime_class],
    ["builder.secret", `/api/v1/namespaces/${namespace}/secrets/${config.builder?.secret}`, config.builder?.secret],
    ...config.image_pull_secrets.map((name, index): [string, string, string] => [
      `image_pull_secrets[${index}]`,
      `/api/v1/namespaces/${namespace}/secrets/${name}`,
      name,
    ]),
  ];
  const found = await Promise.all(
    looks.map(async ([path, address, name]): Promise<Problem[]> => {
      if (name === undefined) return [];
      try {
        await client.json({ method: "GET", path: address, signal });
        return [];
      } catch (error) {
        if (hasStatus(error, 403)) return [];
        if (!hasStatus(error, 404)) throw error;
        const what = path.replace(/s?\[.*/, "").replaceAll(/[_.]/g, " ");
        return [problemAt(path, `the cluster has no ${what} ${JSON.stringify(name)}`)];
      }
    }),
  );
  return found.flat();
}

function problemAt(path: string, message: string): Problem {
  return { file: "provider_config", path, message, severity: "error" };
}
