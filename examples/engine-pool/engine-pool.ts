// An environment of our own: one job over several Docker engines, each trial on the one with the fewest containers.
import {
  loadProviderModule,
  RolloutError,
  type ConfigSchema,
  type CreateEnvironmentRequest,
  type Environment,
  type EnvironmentProvider,
  type OpenProviderOptions,
  type ProviderModule,
} from "rollout-eval/environments";

interface PoolConfig {
  /** Addresses as in DOCKER_HOST. */
  readonly hosts: readonly string[];
}

interface Engine {
  readonly address: string;
  /** Where a person wrote the address, inside provider_config. */
  readonly path: string;
  readonly provider: EnvironmentProvider;
  load: number;
}

const configSchema: ConfigSchema = {
  "~standard": {
    version: 1,
    vendor: "engine-pool",
    validate(value) {
      const { hosts } = value as { readonly hosts?: unknown };
      const isList = Array.isArray(hosts) && hosts.length > 0 && hosts.every((host) => typeof host === "string");
      if (isList) return { value };
      return { issues: [{ path: ["hosts"], message: "is required: a list of addresses, as in DOCKER_HOST" }] };
    },
  },
};

export const providerModule: ProviderModule = {
  name: "engine-pool",
  configSchema,
  async open(options) {
    const { hosts } = options.config as PoolConfig;
    return new EnginePool(await Promise.all(hosts.map((host, index) => openEngine(host, index, options))));
  },
};

async function openEngine(address: string, index: number, options: OpenProviderOptions): Promise<Engine> {
  const docker = await loadProviderModule("docker", options.baseDir);
  const checked = await docker.configSchema["~standard"].validate({});
  if (checked.issues) throw new RolloutError("config_invalid", "the docker environment does not take an empty config");
  const host = { ...options.host, env: { ...options.host.env, DOCKER_HOST: address } };
  const provider = await docker.open({ ...options, config: checked.value, host });
  return { address, path: `hosts[${index}]`, provider, load: 0 };
}

/** Asks every engine what all must know, and one what one can do. */
class EnginePool implements EnvironmentProvider {
  readonly name = "engine-pool";
  readonly capabilities: EnvironmentProvider["capabilities"];
  readonly checkTask: EnvironmentProvider["checkTask"];
  readonly removeCommand: EnvironmentProvider["removeCommand"];
  readonly #engines: readonly Engine[];

  constructor(engines: readonly Engine[]) {
    const [first] = engines;
    if (first === undefined) throw new RolloutError("config_invalid", "the pool is empty");
    this.#engines = engines;
    this.capabilities = first.provider.capabilities;
    this.checkTask = first.provider.checkTask.bind(first.provider);
    this.removeCommand = first.provider.removeCommand.bind(first.provider);
  }

  async probe(signal: AbortSignal): Promise<readonly string[]> {
    const probes = await Promise.allSettled(this.#engines.map(({ provider }) => provider.probe(signal)));
    signal.throwIfAborted();
    // Docker's own error knows nothing of the pool and speaks of DOCKER_HOST; whoever wrote `hosts` must be told of that.
    const problems = this.#engines.flatMap(({ address, path }, index) => {
      const probe = probes[index];
      if (probe?.status !== "rejected") return [];
      const reason =
        probe.reason instanceof Error ? (causeOf(probe.reason) ?? probe.reason.message) : "it does not answer";
      const message = `the engine at ${address} cannot be used: ${reason}`;
      return [{ file: "provider_config", path, message, severity: "error" as const }];
    });
    if (problems.length > 0)
      throw new RolloutError("config_invalid", "an engine of the pool cannot be used; nothing was started", {
        problems,
      });
    return [...new Set(probes.flatMap((probe) => (probe.status === "fulfilled" ? probe.value : [])))];
  }

  async buildImage(request: Parameters<EnvironmentProvider["buildImage"]>[0]): Promise<string> {
    const [image = ""] = await Promise.all(this.#engines.map(({ provider }) => provider.buildImage(request)));
    return image;
  }

  async pullImage(request: Parameters<EnvironmentProvider["pullImage"]>[0]): Promise<string> {
    const [image = ""] = await Promise.all(this.#engines.map(({ provider }) => provider.pullImage(request)));
    return image;
  }

  async createEnvironment(request: CreateEnvironmentRequest): Promise<Environment> {
    const [engine] = this.#engines.toSorted((one, other) => one.load - other.load);
    if (engine === undefined) throw new RolloutError("environment_start_failed", "the pool is empty");
    engine.load++;
    try {
      const environment = await engine.provider.createEnvironment(request);
      return whenDestroyed(environment, () => engine.load--);
    } catch (error) {
      engine.load--;
      throw error;
    }
  }

  async findEnvironments(...query: Parameters<EnvironmentProvider["findEnvironments"]>) {
    const found = await Promise.all(this.#engines.map(({ provider }) => provider.findEnvironments(...query)));
    // Two addresses may lead to one engine.
    return [...new Map(found.flat().map((entry) => [entry.id, entry])).values()];
  }

  async removeEnvironment(id: string, signal: AbortSignal): Promise<void> {
    await Promise.all(this.#engines.map(({ provider }) => provider.removeEnvironment(id, signal)));
  }

  async enter(request: Parameters<EnvironmentProvider["enter"]>[0]) {
    for (const { provider } of this.#engines) {
      const found = await provider.findEnvironments({}, request.signal);
      if (found.some(({ id }) => id === request.id)) return provider.enter(request);
    }
    throw new RolloutError("not_found", `no engine of the pool has ${request.id}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#engines.map(({ provider }) => provider[Symbol.asyncDispose]()));
  }
}

function causeOf({ cause }: Error): string | null {
  return cause instanceof Error ? cause.message : null;
}

function whenDestroyed(environment: Environment, onDestroyed: () => void): Environment {
  let isCounted = true;
  const destroy: Environment["destroy"] = async (signal) => {
    if (isCounted) onDestroyed();
    isCounted = false;
    await environment.destroy(signal);
  };
  return new Proxy(environment, {
    get(target, key) {
      if (key === "destroy") return destroy;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
