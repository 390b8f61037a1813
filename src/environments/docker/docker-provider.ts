import type {
  BuildImageRequest,
  Capabilities,
  CreateEnvironmentRequest,
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
import { ImageNotes } from "./images/image-notes.ts";
import { planDockerImage } from "./images/plan-docker-image.ts";
import { pullDockerImage } from "./images/pull-docker-image.ts";
import { listContainers } from "./list-containers.ts";
import { reapContainers } from "./reap-containers.ts";
import { removeContainer } from "./remove-container.ts";

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
  #engine: Promise<Engine> | null = null;
  #images: ImageNotes | null = null;
  #reaping: Promise<void> | null = null;

  constructor(options: OpenProviderOptions, config: DockerConfig) {
    this.#options = options;
    this.#config = config;
    this.capabilities = planCapabilities(config);
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#ground(signal);
  }

  async checkTask(task: TaskEnvironment, signal: AbortSignal): Promise<TaskCheck> {
    signal.throwIfAborted();
    return planDockerImage(task, this.#config, signal);
  }

  async buildImage(request: BuildImageRequest): Promise<string> {
    request.signal.throwIfAborted();
    return buildDockerImage(await this.#ground(request.signal), request);
  }

  async pullImage(request: PullImageRequest): Promise<string> {
    request.signal.throwIfAborted();
    return pullDockerImage(await this.#ground(request.signal), request);
  }

  async createEnvironment(request: CreateEnvironmentRequest): Promise<DockerEnvironment> {
    request.signal.throwIfAborted();
    const ground = await this.#ground(request.signal);
    this.#reaping ??= reapContainers(ground, this.#ending.signal);
    return createDockerEnvironment(ground, request);
  }

  async findEnvironments(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<FoundEnvironment[]> {
    const { engine } = await this.#ground(signal);
    try {
      const rows = await listContainers(engine, labels, signal);
      return rows.map(({ Id, Labels }) => ({ id: Id.slice(0, 12), labels: Labels ?? {} }));
    } catch (error) {
      signal.throwIfAborted();
      throw wrapEngineError(error, "provider_unavailable", "listing containers");
    }
  }

  async removeEnvironment(id: string, signal: AbortSignal): Promise<void> {
    const ground = await this.#ground(signal);
    try {
      await removeContainer(ground, id, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw wrapEngineError(error, "teardown_failed", `removing the container ${id}`);
    }
  }

  removeCommand(id: string): string | null {
    return `docker rm -f -v ${id}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#reaping;
    const engine = await this.#engine?.catch(() => null);
    engine?.client[Symbol.dispose]();
  }

  async #ground(signal: AbortSignal): Promise<DockerGround> {
    const { host, clock, log, baseDir, timeoutMultiplier } = this.#options;
    this.#engine ??= openEngine({ host, clock, timeoutMultiplier, signal }).catch((error: unknown) => {
      this.#engine = null;
      throw error;
    });
    const engine = await this.#engine;
    this.#images ??= new ImageNotes(engine);
    return { engine, images: this.#images, config: this.#config, baseDir, host, clock, log };
  }
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
