import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { PreparedOnce } from "../../engine/prepared-once.ts";
import type {
  BuildImageRequest,
  Capabilities,
  CreateEnvironmentRequest,
  EnterRequest,
  Entrance,
  EnvironmentProvider,
  FoundEnvironment,
  OpenProviderOptions,
  ProviderModule,
  PullImageRequest,
  TaskCheck,
  TaskEnvironment,
} from "../environment.ts";
import { priceOf } from "../price-keys.ts";
import { checkCluster } from "./check-cluster.ts";
import { findCluster } from "./connection/find-cluster.ts";
import { KubeClient } from "./connection/kube-client.ts";
import { hasStatus, isPassing, KubeError, wrapKubeError } from "./connection/kube-error.ts";
import { createKubernetesEnvironment } from "./create-kubernetes-environment.ts";
import type { Whereabouts } from "./copy-in.ts";
import { enterPod } from "./enter-pod.ts";
import { buildKubernetesImage } from "./images/build-kubernetes-image.ts";
import { imageRef, planKubernetesImage } from "./images/plan-kubernetes-image.ts";
import { kubernetesConfigSchema, type KubernetesConfig } from "./kubernetes-config-schema.ts";
import type { KubernetesEnvironment } from "./kubernetes-environment.ts";
import type { KubernetesGround } from "./kubernetes-ground.ts";
import { listPods } from "./pods/list-pods.ts";
import { ownLabel, selectorOf, sessionLabel } from "./pods/pod-labels.ts";
import { plannedVolumePaths } from "./pods/plan-pod.ts";
import { PodWatch } from "./pods/pod-watch.ts";
import { removePod } from "./pods/remove-pod.ts";
import type { WantedPod } from "./pods/try-pods.ts";

const patienceMs = 60_000;
const mostMeetings = 5;
const meetAgainMs = 1000;

/** The Kubernetes provider as a job names it: `type: k8s` or `type: kubernetes`. */
export const kubernetesProviderModule: ProviderModule = {
  name: "kubernetes",
  configSchema: kubernetesConfigSchema,
  open: async (options) => new KubernetesProvider(options, kubernetesConfigSchema.parse(options.config)),
};

class KubernetesProvider implements EnvironmentProvider {
  readonly name = "kubernetes";
  readonly #options: OpenProviderOptions;
  readonly #config: KubernetesConfig;
  /** The Pods of the tasks that were checked, of each kind one. */
  readonly #wanted = new Map<string, WantedPod>();
  readonly #ground = new PreparedOnce((signal) => this.#prepare(signal));

  constructor(options: OpenProviderOptions, config: KubernetesConfig) {
    this.#options = options;
    this.#config = config;
  }

  get capabilities(): Capabilities {
    const isRoot = plannedVolumePaths(this.#config).length === 0;
    return {
      shell: true,
      users: false,
      owners: isRoot,
      stop: true,
      freeze: false,
      // A Pod that stores too much is evicted, some time later. Processes are counted several times a second.
      limits: { cpus: "enforced", memory: "enforced", storage: "advisory", pids: "advisory" },
      network: this.#config.network_policies ? ["none"] : [],
    };
  }

  get pricePerHour(): number | null {
    const { price_per_cpu_hour: cpu, price_per_gib_hour: gib } = this.#config;
    return cpu === undefined && gib === undefined ? priceOf(this.#config) : null;
  }

  get startLimitMs(): number {
    const { schedule_limit_sec: scheduling, start_limit_sec: starting, reconnect_limit_sec: filling } = this.#config;
    return (scheduling + starting + filling) * this.#options.timeoutMultiplier * 1000;
  }

  async probe(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const pods = [...this.#wanted.values()];
    return checkCluster(await this.#ground.get(signal), { pods, redactor: this.#options.redactor, signal });
  }

  async describe(signal: AbortSignal): Promise<string> {
    const { client, version, namespace } = await this.#ground.get(signal);
    const { server, origin } = client.endpoint;
    return `Kubernetes ${version} at ${server.host}, namespace ${namespace} (${origin})`;
  }

  async checkTask(task: TaskEnvironment, signal: AbortSignal): Promise<TaskCheck> {
    signal.throwIfAborted();
    const check = await planKubernetesImage(task, this.#config, signal);
    if (check.image !== null) this.#want({ image: imageRef(check.image, this.#config), limits: task.limits });
    return check;
  }

  async buildImage(request: BuildImageRequest): Promise<string> {
    request.signal.throwIfAborted();
    return buildKubernetesImage(await this.#ground.get(request.signal), request);
  }

  async pullImage(request: PullImageRequest): Promise<string> {
    request.signal.throwIfAborted();
    // Every node pulls for itself when a Pod comes to it.
    return request.plan.ref;
  }

  async createEnvironment(request: CreateEnvironmentRequest): Promise<KubernetesEnvironment> {
    request.signal.throwIfAborted();
    return createKubernetesEnvironment(await this.#ground.get(request.signal), request);
  }

  async findEnvironments(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<FoundEnvironment[]> {
    const ground = await this.#ground.get(signal);
    try {
      return await listPods(ground, labels, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw wrapKubeError(error, "provider_unavailable", "listing Pods");
    }
  }

  async removeEnvironment(id: string, signal: AbortSignal): Promise<void> {
    const ground = await this.#ground.get(signal);
    try {
      await removePod(ground, id, signal);
      ground.watch.drop(id);
    } catch (error) {
      signal.throwIfAborted();
      throw wrapKubeError(error, "teardown_failed", `removing the Pod ${id}`);
    }
  }

  async enter(request: EnterRequest): Promise<Entrance> {
    request.signal.throwIfAborted();
    return enterPod(await this.#ground.get(request.signal), request);
  }

  removeCommand(id: string): string | null {
    const { namespace, context, kubeconfig } = this.#config;
    const where = Object.entries({ kubeconfig, context, namespace }).flatMap(([key, value]) =>
      value === undefined ? [] : [`--${key}`, value],
    );
    return ["kubectl", ...where, "delete", "pod", id].join(" ");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ground = await this.#ground.peek();
    ground?.watch[Symbol.dispose]();
    ground?.client[Symbol.dispose]();
  }

  #want(pod: WantedPod): void {
    this.#wanted.set(JSON.stringify(pod), pod);
  }

  async #prepare(signal: AbortSignal): Promise<KubernetesGround> {
    const { host, clock, log, baseDir, timeoutMultiplier } = this.#options;
    const config = this.#config;
    const { kubeconfig, context, namespace: wanted, rate } = config;
    const endpoint = await findCluster({ host, clock, baseDir, kubeconfig, context, namespace: wanted });
    const pace = { callsPerSecond: rate.calls_per_second, burst: rate.burst };
    const client = new KubeClient({ endpoint, clock, pace, patienceMs: patienceMs * timeoutMultiplier });
    const { namespace } = endpoint;
    const session = randomUUID();
    try {
      const gitVersion = await meet(client, clock, signal);
      const labelSelector = selectorOf({ [ownLabel]: "kubernetes", [sessionLabel]: session });
      const watch = new PodWatch({ client, clock, log, namespace, labelSelector });
      const podsPath = `/api/v1/namespaces/${namespace}/pods`;
      const nonRootImages = new Set<string>();
      const known = { nonRootImages, whereabouts: new Map<string, Whereabouts>() };
      const shared = { client, watch, namespace, podsPath, session, config, timeoutMultiplier, ...known };
      return { ...shared, version: gitVersion, host, clock, log };
    } catch (error) {
      client[Symbol.dispose]();
      signal.throwIfAborted();
      throw unavailable(error, `${endpoint.server.host} (${endpoint.origin})`);
    }
  }
}

// A cluster that is just coming back is waited for a little, one that is not there is told soon.
async function meet(client: KubeClient, clock: Clock, signal: AbortSignal): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      const request = { method: "GET", path: "/version", signal } as const;
      return (await client.jsonOnce<{ gitVersion: string }>(request)).gitVersion;
    } catch (error) {
      // An API server that has just started knows no rights yet.
      const isEarly = isPassing(error) || hasStatus(error, 403);
      if (!isEarly || tries === mostMeetings) throw error;
      await clock.sleep(meetAgainMs, signal);
    }
  }
}

function unavailable(error: unknown, where: string): unknown {
  if (!(error instanceof KubeError)) return error;
  if (hasStatus(error, 403)) {
    return new RolloutError("provider_unavailable", `the cluster at ${where} refuses this account: ${error.message}`, {
      hint: "bind the ClusterRole system:public-info-viewer to it, as clusters do unless somebody changed that",
      cause: error,
    });
  }
  if (hasStatus(error, 401)) {
    return new RolloutError("provider_unavailable", `the cluster at ${where} does not know us: ${error.message}`, {
      hint: "renew the credentials of the kubeconfig, or use another context",
      cause: error,
    });
  }
  return new RolloutError("provider_unavailable", `no Kubernetes cluster answers at ${where}: ${error.message}`, {
    hint: "start the cluster, or point KUBECONFIG at another one",
    cause: error,
  });
}
