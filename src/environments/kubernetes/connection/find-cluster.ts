import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import { RolloutError } from "../../../base/rollout-error.ts";
import type { ClusterEndpoint } from "./cluster-endpoint.ts";
import { readKubeContext } from "./read-kube-config.ts";
import { tokenFileCredentials, userCredentials } from "./user-credentials.ts";

const podAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface FindClusterOptions {
  readonly host: Host;
  readonly clock: Clock;
  /** A path in the settings is relative to it. */
  readonly baseDir: string;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly namespace: string | undefined;
}

/** Where the cluster is, as `kubectl` would find it: the settings, KUBECONFIG, the user's own file, or the Pod we run in. */
export async function findCluster(options: FindClusterOptions): Promise<ClusterEndpoint> {
  const { host, clock, context } = options;
  const { files, origin } = findFiles(options);
  const isThere = files.some((file) => existsSync(file));
  const address = host.env["KUBERNETES_SERVICE_HOST"];
  if (!isThere && address && existsSync(`${podAccount}/token`) && context === undefined) {
    return inClusterEndpoint(options, address);
  }
  if (!isThere) {
    throw new RolloutError("provider_unavailable", `no Kubernetes cluster is known: there is no ${files.join(", ")}`, {
      hint: "point KUBECONFIG or provider_config.kubeconfig at the cluster's kubeconfig",
    });
  }
  const found = await readKubeContext(files, context);
  const namespace = options.namespace ?? found.namespace ?? "default";
  const isDefaultFile = files.length === 1 && options.kubeconfig === undefined && !host.env["KUBECONFIG"];
  return {
    server: new URL(found.server),
    ca: found.ca,
    isVerified: found.isVerified,
    serverName: found.serverName,
    credentials: userCredentials(found.user, found.directory, host.env, clock),
    namespace,
    origin: `context ${found.name} of ${origin}`,
    kubectlOptions: [
      ...(isDefaultFile || files.length > 1 ? [] : ["--kubeconfig", files[0] ?? ""]),
      "--context",
      found.name,
      "-n",
      namespace,
    ],
  };
}

function findFiles({ host, baseDir, kubeconfig }: FindClusterOptions): { files: string[]; origin: string } {
  if (kubeconfig !== undefined) {
    const path = resolve(baseDir, kubeconfig.replace(/^~(?=\/)/, host.home));
    return { files: [path], origin: `provider_config.kubeconfig, ${path}` };
  }
  const listed = (host.env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  if (listed.length > 0) {
    const files = listed.map((path) => resolve(host.cwd, path));
    return { files, origin: `KUBECONFIG, ${files.join(", ")}` };
  }
  const path = join(host.home, ".kube", "config");
  return { files: [path], origin: path };
}

async function inClusterEndpoint(options: FindClusterOptions, address: string): Promise<ClusterEndpoint> {
  const { host, clock } = options;
  const port = host.env["KUBERNETES_SERVICE_PORT_HTTPS"] ?? host.env["KUBERNETES_SERVICE_PORT"] ?? "443";
  const own = await readFile(`${podAccount}/namespace`, "utf8").catch(() => "default");
  const namespace = options.namespace ?? own.trim();
  return {
    server: new URL(`https://${address.includes(":") ? `[${address}]` : address}:${port}`),
    ca: await readFile(`${podAccount}/ca.crt`),
    isVerified: true,
    serverName: null,
    credentials: tokenFileCredentials(`${podAccount}/token`, clock),
    namespace,
    origin: "the service account of the Pod that Rollout runs in",
    kubectlOptions: ["-n", namespace],
  };
}
