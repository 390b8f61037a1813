import { RolloutError } from "../../base/rollout-error.ts";
import { PreparedOnce } from "../../engine/prepared-once.ts";
import type {
  BuildImageRequest,
  Capabilities,
  Capacity,
  CreateEnvironmentRequest,
  EnterRequest,
  Entrance,
  EnvironmentProvider,
  FoundEnvironment,
  OpenProviderOptions,
  ProviderModule,
  PullImageRequest,
  SnapshotStore,
  TaskCheck,
  TaskEnvironment,
} from "../environment.ts";
import { checkSettings } from "./check-settings.ts";
import { addressOf } from "./connection/engine-endpoint.ts";
import { priceOf } from "../price-keys.ts";
import { wrapEngineError } from "./connection/engine-error.ts";
import { findEngine } from "./connection/find-engine.ts";
import { openEngine, type Engine } from "./connection/open-engine.ts";
import { createDockerEnvironment } from "./create-docker-environment.ts";
import { dockerConfigSchema, type DockerConfig } from "./docker-config-schema.ts";
import type { DockerEnvironment } from "./docker-environment.ts";
import { DoubtfulContainers } from "./doubtful-containers.ts";
import type { DockerGround } from "./docker-ground.ts";
import { buildDockerImage } from "./images/build-docker-image.ts";
import { checkBuildSecrets } from "./images/build-secrets.ts";
import { ImageNotes } from "./images/image-notes.ts";
import { planDockerImage } from "./images/plan-docker-image.ts";
import { pullDockerImage } from "./images/pull-docker-image.ts";
import { enterContainer } from "./enter-container.ts";
import { isKept, listContainers } from "./list-containers.ts";
import { LogVolumes } from "./log-volumes.ts";
import { AllowNetwork } from "./network/allow-network.ts";
import { reapNetworks } from "./network/reap-networks.ts";
import { findIptables, whyNoAllowHere, whyNoAllowWith } from "./network/why-no-allow.ts";
import { reapLogVolumes } from "./reap-log-volumes.ts";
import { removeContainer } from "./remove-container.ts";
import { findSnapshot, identifyImage, listSnapshots, removeSnapshot } from "./snapshots/snapshot-store.ts";

const storageNote = "an enforced limit on storage: provider_config.storage_quota, with a storage driver that can";

/** The docker provider as a job names it: `type: docker`. */
export const dockerProviderModule: ProviderModule = {
  name: "docker",
  configSchema: dockerConfigSchema,
  async open(options) {
    // Where the engine is can be told without asking it; an address that makes no sense is told by the probe.
    const endpoint = await findEngine(options.host).catch(() => null);
    const whyNoAllow = whyNoAllowHere(options.host, endpoint);
    return new DockerProvider(options, dockerConfigSchema.parse(options.config), whyNoAllow);
  },
};

class DockerProvider implements EnvironmentProvider {
  readonly name = "docker";
  readonly #options: OpenProviderOptions;
  readonly #config: DockerConfig;
  readonly #ending = new AbortController();
  readonly #ground = new PreparedOnce((signal) => this.#prepare(signal));
  #reaping: Promise<unknown> | null = null;
  #whyNoAllow: string | null;
  #hasPidsLimit = true;

  constructor(options: OpenProviderOptions, config: DockerConfig, whyNoAllow: string | null) {
    this.#options = options;
    this.#config = config;
    this.#whyNoAllow = whyNoAllow;
  }

  get capabilities(): Capabilities {
    return planCapabilities(this.#config, this.#whyNoAllow === null, this.#hasPidsLimit);
  }

  get pricePerHour(): number {
    return priceOf(this.#config);
  }

  get snapshots(): SnapshotStore {
    return {
      identify: async (image, signal) => identifyImage(await this.#ground.get(signal), image, signal),
      find: async (key, signal) => findSnapshot(await this.#ground.get(signal), key, signal),
      list: async (signal) => listSnapshots(await this.#ground.get(signal), signal),
      remove: async (key, signal) => removeSnapshot(await this.#ground.get(signal), key, signal),
    };
  }

  async probe(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    await checkSettings(await this.#ground.get(signal), signal);
    const notes = this.#config.storage_quota ? [] : [storageNote];
    return this.#whyNoAllow === null ? notes : [...notes, `environment.network with allow: ${this.#whyNoAllow}`];
  }

  async describe(signal: AbortSignal): Promise<string> {
    const { engine } = await this.#ground.get(signal);
    const { product, version, apiVersion, platform, client } = engine;
    const name = product === "podman" ? "Podman" : "Docker";
    return `${name} ${version} (API ${apiVersion}, ${platform}) at ${addressOf(client.endpoint)}`;
  }

  async capacity(signal: AbortSignal): Promise<Capacity | null> {
    signal.throwIfAborted();
    return (await this.#ground.get(signal)).engine.capacity;
  }

  async checkTask(task: TaskEnvironment, signal: AbortSignal): Promise<TaskCheck> {
    signal.throwIfAborted();
    return planDockerImage(task, this.#config, signal);
  }

  async buildImage(request: BuildImageRequest): Promise<string> {
    request.signal.throwIfAborted();
    return buildDockerImage(await this.#ground.get(request.signal), request);
  }

  async pullImage(request: PullImageRequest): Promise<string> {
    request.signal.throwIfAborted();
    return pullDockerImage(await this.#ground.get(request.signal), request);
  }

  async createEnvironment(request: CreateEnvironmentRequest): Promise<DockerEnvironment> {
    request.signal.throwIfAborted();
    const ground = await this.#ground.get(request.signal);
    this.#reaping ??= this.#reap(ground);
    return createDockerEnvironment(ground, request);
  }

  async findEnvironments(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<FoundEnvironment[]> {
    const { engine } = await this.#ground.get(signal);
    try {
      const rows = await listContainers(engine, labels, signal);
      return rows.map((row) => ({ id: row.Id.slice(0, 12), labels: row.Labels ?? {}, isKept: isKept(row) }));
    } catch (error) {
      signal.throwIfAborted();
      throw wrapEngineError(error, "provider_unavailable", "listing containers");
    }
  }

  async removeEnvironment(id: string, signal: AbortSignal): Promise<void> {
    const ground = await this.#ground.get(signal);
    try {
      await removeContainer(ground, id, signal);
      await (this.#reaping ??= this.#reap(ground));
    } catch (error) {
      signal.throwIfAborted();
      throw wrapEngineError(error, "teardown_failed", `removing the container ${id}`);
    }
  }

  async enter(request: EnterRequest): Promise<Entrance> {
    request.signal.throwIfAborted();
    return enterContainer(await this.#ground.get(request.signal), request);
  }

  removeCommand(id: string): string | null {
    return `docker rm -f -v ${id}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#reaping;
    const ground = await this.#ground.peek();
    if (ground) await ground.doubtful.remove(ground);
    await (await ground?.allowNetwork?.peek())?.[Symbol.asyncDispose]();
    ground?.engine.client[Symbol.dispose]();
  }

  #reap(ground: DockerGround): Promise<unknown> {
    const { signal } = this.#ending;
    return Promise.all([reapLogVolumes(ground, signal), reapNetworks(ground, findIptables(ground.host))]);
  }

  async #prepare(signal: AbortSignal): Promise<DockerGround> {
    const { host, clock, log, baseDir, timeoutMultiplier } = this.#options;
    const config = this.#config;
    const engine = await openEngine({ host, clock, timeoutMultiplier, signal });
    try {
      checkStorage(config, engine);
      await checkBuildSecrets({ config, host, baseDir, engine });
      this.#hasPidsLimit = engine.hasPidsLimit;
      this.#whyNoAllow = await whyNoAllowWith(engine, host);
    } catch (error) {
      engine.client[Symbol.dispose]();
      throw error;
    }
    const logVolumes = new LogVolumes(engine, host, config);
    const iptables = this.#whyNoAllow === null ? findIptables(host) : null;
    const allowNetwork =
      iptables === null ? null : new PreparedOnce(() => AllowNetwork.open({ engine, host, clock, log, iptables }));
    const images = new ImageNotes(engine);
    const doubtful = new DoubtfulContainers();
    return { engine, images, logVolumes, allowNetwork, doubtful, config, baseDir, host, clock, log };
  }
}

function checkStorage({ storage_quota }: DockerConfig, { whyNoQuota }: Engine): void {
  if (!storage_quota || whyNoQuota === null) return;
  throw new RolloutError("unsupported", `the engine cannot enforce storage_quota: ${whyNoQuota}`, {
    hint: "take storage_quota out of provider_config, or use overlay2 on xfs with pquota, btrfs or zfs",
  });
}

function planCapabilities(
  { network, storage_quota, gpus }: DockerConfig,
  canAllow: boolean,
  hasPidsLimit: boolean,
): Capabilities {
  // A container that shares another's network, or the host's, cannot be taken out of it.
  const canLeave = network === undefined || !/^(host|none|container:.*|ns:.*)$/.test(network);
  return {
    shell: true,
    users: true,
    owners: true,
    stop: true,
    freeze: true,
    limits: {
      cpus: "enforced",
      memory: "enforced",
      storage: storage_quota ? "enforced" : "none",
      pids: hasPidsLimit ? "enforced" : "none",
    },
    network: canLeave ? (canAllow ? ["none", "allow"] : ["none"]) : [],
    snapshots: true,
    changes: true,
    // What a container that is on its way out may still hold: ports of the network it shares, memory of a GPU.
    removalOverlaps: canLeave && gpus === undefined,
  };
}
