import { arch } from "node:os";
import { basename, join, resolve } from "node:path";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
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
  SnapshotStore,
  TaskCheck,
  TaskEnvironment,
} from "../environment.ts";
import { priceOf } from "../price-keys.ts";
import { checkLimits } from "./check-limits.ts";
import { findGroupPlaces } from "./control-groups.ts";
import { buildLocalImage } from "./dockerfile/build-image.ts";
import { planLocalImage } from "./dockerfile/plan-image.ts";
import { createLocalEnvironment } from "./create-local-environment.ts";
import { enterLocalEnvironment } from "./enter-local-environment.ts";
import { listFolders, readRecord } from "./environment-records.ts";
import { openHostBase } from "./host-base.ts";
import { findTool } from "../../base/find-tool.ts";
import { toolPath } from "../../base/tool-path.ts";
import { requireImage } from "./image-store.ts";
import { PipeStock } from "./pipe-stock.ts";
import { FreshTools } from "./tool-look.ts";
import { ProgramStarter } from "./program-starter.ts";
import { planIdMap, readIdMapFacts } from "./id-map.ts";
import { reapLeftovers, removeLeftover } from "./leftovers.ts";
import { planEnforcement } from "./limits.ts";
import { localConfigSchema } from "./local-config-schema.ts";
import type { LocalEnvironment } from "./local-environment.ts";
import type { LocalGround, PreparedGround } from "./local-ground.ts";
import { makeLayout, planLayout } from "./local-layout.ts";
import { planNotes } from "./plan-notes.ts";
import { planOwnFolder } from "./own-folders.ts";
import { probeLocal, refuseOtherSystems } from "./probe-local.ts";
import { openRootfsBase } from "./rootfs-base.ts";
import { findSnapshot, identifyImage, listSnapshots, removeSnapshot } from "./snapshots/snapshot-store.ts";
import { openToolbox } from "./toolbox.ts";
import { TrashBin } from "./trash-bin.ts";

/** The local provider as a job names it: `type: local`. */
export const localProviderModule: ProviderModule = {
  name: "local",
  configSchema: localConfigSchema,
  async open(options) {
    return new LocalProvider(planGround(options));
  },
};

/** What a provider knows of the machine without asking it for anything. */
export function planGround(options: Pick<OpenProviderOptions, "config" | "host" | "clock" | "baseDir">): LocalGround {
  const { config, host, clock, baseDir } = options;
  const parsed = localConfigSchema.parse(config);
  const path = toolPath(host);
  const hasHelpers = findTool("newuidmap", path) !== null && findTool("newgidmap", path) !== null;
  const idMap = planIdMap(readIdMapFacts(host.uid, hasHelpers));
  const layout = planLayout(host.cacheDir);
  const groupPlaces = host.uid === 0 ? findGroupPlaces() : null;
  const starter = new ProgramStarter({ host, path });
  const pipes = new PipeStock({ directory: planOwnFolder(join(layout.pipes, "pipes"), host), path, starter });
  const hasUsers = idMap.kind !== "single";
  const capabilities: Capabilities = {
    shell: true,
    users: hasUsers,
    owners: hasUsers,
    stop: parsed.storage === "disk",
    freeze: true,
    limits: planEnforcement(groupPlaces !== null, parsed.storage),
    network: ["none"],
    snapshots: parsed.storage === "disk",
    changes: parsed.storage === "disk",
  };
  return {
    host,
    clock,
    baseDir,
    config: parsed,
    layout,
    idMap,
    path,
    bash: findTool("bash", path) ?? "bash",
    nsenter: findTool("nsenter", path) ?? "nsenter",
    groupPlaces,
    capabilities,
    starter,
    trash: new TrashBin({ directory: layout.trash, idMap, path, clock, starter, pipes }),
    pipes,
    freshTools: new FreshTools(clock),
  };
}

class LocalProvider implements EnvironmentProvider {
  readonly name = "local";
  readonly capabilities: Capabilities;
  readonly #ground: LocalGround;
  /** Images that tasks name and that we do not use, by the key of what we use instead. */
  readonly #unusedImages = new Map<string, string>();
  readonly #living = new Set<LocalEnvironment>();
  readonly #prepared = new PreparedOnce((signal) => this.#prepare(signal));

  constructor(ground: LocalGround) {
    this.#ground = ground;
    this.capabilities = ground.capabilities;
  }

  get pricePerHour(): number {
    return priceOf(this.#ground.config);
  }

  get snapshots(): SnapshotStore {
    return {
      identify: async (image, signal) => identifyImage(await this.#prepared.get(signal), image),
      find: async (key) => findSnapshot(this.#ground, key),
      list: async () => listSnapshots(this.#ground),
      remove: async (key) => removeSnapshot(this.#ground, key),
    };
  }

  async probe(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    await this.#prepared.get(signal);
    return planNotes(this.#ground);
  }

  async checkTask(task: TaskEnvironment, signal: AbortSignal): Promise<TaskCheck> {
    signal.throwIfAborted();
    const check = await planLocalImage(task, arch(), this.#ground.config.base === undefined, signal);
    if (check.image && task.dockerImage !== null) this.#unusedImages.set(check.image.key, task.dockerImage);
    const { problems, warnings } = checkLimits(task.limits, this.#ground.host);
    return {
      problems: [...check.problems, ...problems],
      warnings: [...check.warnings, ...warnings],
      image: problems.length > 0 ? null : check.image,
    };
  }

  async buildImage(request: BuildImageRequest): Promise<string> {
    request.signal.throwIfAborted();
    const ground = await this.#prepared.get(request.signal);
    return buildLocalImage(ground, arch(), this.#unusedImages.get(request.plan.key) ?? null, request);
  }

  async pullImage(): Promise<string> {
    throw new RolloutError("image_pull_failed", "the local environment pulls no images");
  }

  async createEnvironment(request: CreateEnvironmentRequest): Promise<LocalEnvironment> {
    request.signal.throwIfAborted();
    const ground = await this.#prepared.get(request.signal);
    const image = requireImage(ground, request.image);
    const environment = await createLocalEnvironment(ground, {
      ...request,
      image,
      isBuild: false,
      onEnded: (ended) => this.#living.delete(ended),
    });
    this.#living.add(environment);
    return environment;
  }

  async findEnvironments(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<FoundEnvironment[]> {
    signal.throwIfAborted();
    const { environments } = this.#ground.layout;
    const wanted = Object.entries(labels);
    return listFolders(environments)
      .flatMap((name) => readRecord(join(environments, name)) ?? [])
      .filter((record) => wanted.every(([key, value]) => record.labels[key] === value))
      .map(({ id, labels: worn, state }) => ({ id, labels: worn, isKept: state === "kept" }));
  }

  async removeEnvironment(id: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const own = [...this.#living].find((environment) => environment.id === id);
    if (own) await own.destroy(signal);
    else await removeLeftover(this.#ground, id);
  }

  enter(request: EnterRequest): Promise<Entrance> {
    return enterLocalEnvironment(this.#ground, request);
  }

  removeCommand(id: string): string | null {
    return `rollout clean ${id}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // What is held in memory ends with this process, whoever wanted to keep it.
    const never = new AbortController().signal;
    const lost = this.capabilities.stop ? [] : [...this.#living];
    await Promise.allSettled(lost.map((environment) => environment.destroy(never)));
    await this.#ground.trash.empty();
    this.#ground.pipes[Symbol.dispose]();
    await this.#ground.starter[Symbol.asyncDispose]();
  }

  async #prepare(signal: AbortSignal): Promise<PreparedGround> {
    const { layout, path, idMap, config, baseDir, host } = this.#ground;
    const basesDir = layout.bases;
    refuseOtherSystems(host.platform);
    try {
      makeLayout(layout);
      await reapLeftovers(this.#ground);
      await probeLocal(this.#ground, signal);
      const [toolbox, base] = await Promise.all([
        openToolbox({ toolsDir: layout.tools, path, host, signal }),
        config.base === undefined || config.base === "host"
          ? openHostBase({ basesDir, idMap, host, signal })
          : openRootfsBase({ ...this.#ground, basesDir, source: resolve(baseDir, config.base), signal }),
      ]);
      return { ...this.#ground, base, toolbox: `../../tools/${basename(toolbox)}` };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RolloutError) throw error;
      throw new RolloutError("provider_unavailable", `the base cannot be prepared: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}
