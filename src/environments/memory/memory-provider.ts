import { randomUUID } from "node:crypto";
import { systemClock, type Clock } from "../../base/clock.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type {
  BuildImageRequest,
  Capabilities,
  CreateEnvironmentRequest,
  Entrance,
  EnvironmentProvider,
  FoundEnvironment,
  OutputSink,
  ProviderModule,
  PullImageRequest,
  SnapshotStore,
  TaskCheck,
  TaskEnvironment,
} from "../environment.ts";
import { priceOf } from "../price-keys.ts";
import { createFaultGate, type FaultGate, type FaultHook } from "./fault-gate.ts";
import { loadMemoryHandler } from "./load-memory-handler.ts";
import { memoryConfigSchema } from "./memory-config-schema.ts";
import { MemoryEnvironment } from "./memory-environment.ts";
import type { MemoryHandler } from "./memory-handler.ts";
import { MemorySnapshots } from "./memory-snapshots.ts";
import { defaultWorkdir, memoryBaseImage, planMemoryImage, readDockerfile, readWorkdir } from "./plan-memory-image.ts";

/** What a memory provider is made of. */
export interface MemoryProviderOptions {
  readonly handler: MemoryHandler;
  readonly clock?: Clock | undefined;
  /** US dollars; default 0. */
  readonly pricePerHour?: number | undefined;
  /** Called before each operation. */
  readonly faults?: FaultHook | undefined;
  readonly capabilities?: Partial<Capabilities> | undefined;
}

const defaultCapabilities: Capabilities = {
  shell: false,
  users: false,
  owners: true,
  stop: true,
  freeze: true,
  limits: { cpus: "none", memory: "none", storage: "none" },
  network: [],
  snapshots: true,
  changes: true,
};

/** A provider whose environments live in this process and die with it. */
export function createMemoryProvider(options: MemoryProviderOptions): EnvironmentProvider {
  return new MemoryProvider(options);
}

/** The memory provider as a job names it: `type: memory` with a handler module. */
export const memoryProviderModule: ProviderModule = {
  name: "memory",
  configSchema: memoryConfigSchema,
  async open({ config, baseDir, clock }) {
    const { handler, ...price } = memoryConfigSchema.parse(config);
    const pricePerHour = priceOf(price);
    return createMemoryProvider({ handler: await loadMemoryHandler(handler, baseDir), clock, pricePerHour });
  },
};

class MemoryProvider implements EnvironmentProvider {
  readonly name = "memory";
  readonly capabilities: Capabilities;
  readonly #options: MemoryProviderOptions;
  readonly #faults: FaultGate;
  readonly #workdirs = new Map([[memoryBaseImage, defaultWorkdir]]);
  readonly #environments = new Map<string, MemoryEnvironment>();
  readonly #snapshots = new MemorySnapshots();

  constructor(options: MemoryProviderOptions) {
    this.#options = options;
    this.capabilities = { ...defaultCapabilities, ...options.capabilities };
    this.#faults = createFaultGate(options.faults);
  }

  get pricePerHour(): number {
    return this.#options.pricePerHour ?? 0;
  }

  get snapshots(): SnapshotStore {
    const used = (): ReadonlySet<string> => new Set([...this.#environments.values()].map(({ image }) => image));
    return this.#snapshots.store(used);
  }

  async probe(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    await this.#faults("probe", { environment: null, image: null, labels: {} }, signal);
    return [];
  }

  async checkTask(task: TaskEnvironment, signal: AbortSignal): Promise<TaskCheck> {
    signal.throwIfAborted();
    return planMemoryImage(task);
  }

  async buildImage({ plan, output, signal }: BuildImageRequest): Promise<string> {
    signal.throwIfAborted();
    await this.#faults("build", { environment: null, image: plan.key, labels: {} }, signal);
    const dockerfile = await readDockerfile(plan.contextDir);
    if (dockerfile === null)
      throw new RolloutError("image_build_failed", `there is no Dockerfile in ${plan.contextDir}`);
    const image = `memory-build:${plan.key}`;
    await print(output, `built ${image}`);
    this.#workdirs.set(image, readWorkdir(dockerfile));
    return image;
  }

  async pullImage({ plan, output, signal }: PullImageRequest): Promise<string> {
    signal.throwIfAborted();
    await this.#faults("pull", { environment: null, image: plan.key, labels: {} }, signal);
    await print(output, `pulled ${plan.ref}`);
    this.#workdirs.set(plan.ref, defaultWorkdir);
    return plan.ref;
  }

  async createEnvironment(request: CreateEnvironmentRequest): Promise<MemoryEnvironment> {
    const { name, image, labels, place, signal } = request;
    signal.throwIfAborted();
    await this.#faults("create", { environment: name, image, labels }, signal);
    const snapshot = this.#snapshots.get(image);
    const workdir = snapshot?.workdir ?? this.#workdirs.get(image);
    if (workdir === undefined) {
      throw new RolloutError("environment_start_failed", `there is no image ${image}: it was neither built nor pulled`);
    }
    const id = `memory-${name}-${randomUUID().slice(0, 8)}`;
    const environment = new MemoryEnvironment({
      id,
      name,
      image,
      workdir,
      labels: { ...labels },
      handler: this.#options.handler,
      capabilities: this.capabilities,
      pricePerHour: this.#options.pricePerHour ?? 0,
      clock: this.#options.clock ?? systemClock,
      faults: this.#faults,
      files: snapshot?.files,
      onSnapshot: (key, files) => this.#snapshots.keep(key, { files, workdir }),
      onDestroyed: () => this.#environments.delete(id),
    });
    // A hook that was late on purpose hands its environment over after the deadline, as an engine may.
    await environment.place(place, new AbortController().signal).catch((error: unknown) => {
      throw new RolloutError("environment_start_failed", `${id} did not start: ${messageOf(error)}`, { cause: error });
    });
    this.#environments.set(id, environment);
    return environment;
  }

  async findEnvironments(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<FoundEnvironment[]> {
    signal.throwIfAborted();
    const wanted = Object.entries(labels);
    return [...this.#environments.values()]
      .filter((environment) => wanted.every(([key, value]) => environment.labels[key] === value))
      .map(({ id, labels: worn, isKept }) => ({ id, labels: worn, isKept }));
  }

  async removeEnvironment(id: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#environments.get(id)?.destroy(signal);
  }

  async enter(): Promise<Entrance> {
    throw new RolloutError("not_found", "environments in memory end with the process that made them");
  }

  removeCommand(): string | null {
    return null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // What was kept on purpose stays findable for as long as the process lives.
  }
}

async function print(output: OutputSink, line: string): Promise<void> {
  await output.write(Buffer.from(`${line}\n`));
}
