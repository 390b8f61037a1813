import { RolloutError } from "../../base/rollout-error.ts";
import type { Problem } from "../../base/problem.ts";
import { hasStatus, wrapKubeError } from "./connection/kube-error.ts";
import type { KubernetesGround } from "./kubernetes-ground.ts";

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

/** Asks whether we may do what we need and whether all that the settings name is there. */
export async function checkCluster(ground: KubernetesGround, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const problems = await findMissing(ground, signal);
    if (problems.length > 0) {
      throw new RolloutError(
        "config_invalid",
        "provider_config names what the cluster does not have; nothing was started",
        { problems },
      );
    }
    await checkPermissions(ground, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw wrapKubeError(error, "provider_unavailable", "asking the cluster");
  }
  if (ground.config.network_policies) return [];
  return ["environment.network: none: provider_config.network_policies, with a network plugin that enforces them"];
}

async function checkPermissions(ground: KubernetesGround, signal: AbortSignal): Promise<void> {
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
  if (missing.length === 0) return;
  throw new RolloutError(
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
        return [
          {
            file: "provider_config",
            path,
            message: `the cluster has no ${path.replace(/s?\[.*/, "").replaceAll(/[_.]/g, " ")} ${JSON.stringify(name)}`,
            severity: "error",
          },
        ];
      }
    }),
  );
  return found.flat();
}
