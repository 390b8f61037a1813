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
  TaskCheck,
  TaskEnvironment,
} from "../environment.ts";
import { wrapEngineError } from "./connection/engine-error.ts";
import { openEngine, type Engine } from "./connection/open-engine.ts";
import { createDockerEnvironment } from "./create-docker-environment.ts";
import { dockerConfigSchema, type DockerConfig } from "./docker-config-schema.ts";
import type { DockerEnvironment } from "./docker-environment.ts";
import type { DockerGround } from "./docker-ground.ts";
import { buildDockerImage } from "./images/build-docker-image.ts";
import { checkBuildSecrets } from "./images/build-secrets.ts";
import { ImageNotes } from "./images/image-notes.ts";
import { planDockerImage } from "./images/plan-docker-image.ts";
import { pullDockerImage } from "./images/pull-docker-image.ts";
import { enterContainer } from "./enter-container.ts";
import { isKept, listContainers } from "./list-containers.ts";
import { LogVolumes } from "./log-volumes.ts";
import { reapLogVolumes } from "./reap-log-volumes.ts";
import { removeContainer } from "./remove-container.ts";

const storageNote = "an enforced limit on storage: provider_config.storage_quota, with a storage driver that can";

/** The docker provider as a job names it: `type: docker`. */
export const dockerProviderModule: ProviderModule = {
  name: "docker",
  configSchema: dockerConfigSchema,
  async open(options) {
    return new DockerProvider(options, dockerConfigSchema.parse(options.config));
  },
};

class DockerProvider implements EnvironmentProvider {
  readonly name = "docker";
  readonly capabilities: Capabilities;
  readonly #options: OpenProviderOptions;
  readonly #config: DockerConfig;
  readonly #ending = new AbortController();
  readonly #ground = new PreparedOnce((signal) => this.#prepare(signal));
  #reaping: Promise<void> | null = null;

  constructor(options: OpenProviderOptions, config: DockerConfig) {
    this.#options = options;
    this.#config = config;
    this.capabilities = planCapabilities(config);
  }

  async probe(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    await this.#ground.get(signal);
    return this.#config.storage_quota ? [] : [storageNote];
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
    this.#reaping ??= reapLogVolumes(ground, this.#ending.signal);
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
    (await this.#ground.peek())?.engine.client[Symbol.dispose]();
  }

  async #prepare(signal: AbortSignal): Promise<DockerGround> {
    const { host, clock, log, baseDir, timeoutMultiplier } = this.#options;
    const config = this.#config;
    const engine = await openEngine({ host, clock, timeoutMultiplier, signal });
    try {
      checkStorage(config, engine);
      await checkBuildSecrets({ config, host, baseDir, engine });
    } catch (error) {
      engine.client[Symbol.dispose]();
      throw error;
    }
    const logVolumes = new LogVolumes(engine, host, config);
    return { engine, images: new ImageNotes(engine), logVolumes, config, baseDir, host, clock, log };
  }
}

function checkStorage({ storage_quota }: DockerConfig, { whyNoQuota }: Engine): void {
  if (!storage_quota || whyNoQuota === null) return;
  throw new RolloutError("unsupported", `the engine cannot enforce storage_quota: ${whyNoQuota}`, {
    hint: "take storage_quota out of provider_config, or use overlay2 on xfs with pquota, btrfs or zfs",
  });
}

function planCapabilities({ network, storage_quota }: DockerConfig): Capabilities {
  // A container that shares another's network, or the host's, cannot be taken out of it.
  const canLeave = network === undefined || !/^(host|none|container:.*|ns:.*)$/.test(network);
  return {
    shell: true,
    users: true,
    owners: true,
    stop: true,
    freeze: true,
    limits: { cpus: "enforced", memory: "enforced", storage: storage_quota ? "enforced" : "none" },
    network: canLeave ? ["none"] : [],
  };
}
