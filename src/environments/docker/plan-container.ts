import { resolve } from "node:path";
import { defaultPidsLimit, type CreateEnvironmentRequest } from "../environment.ts";
import { keeperAlone, keeperSeconds } from "../guest/keeper.ts";
import type { DockerConfig } from "./docker-config-schema.ts";

/** The label that tells our containers from everybody else's. */
export const ownLabel = "rollout.environment";

const cpuPeriodUs = 100_000;

// Under an engine's own init the sleeper is enough.
const keeperUnderInit = ["sleep", keeperSeconds];

export interface ContainerPlanOptions {
  readonly request: Pick<CreateEnvironmentRequest, "image" | "name" | "limits" | "labels">;
  readonly config: DockerConfig;
  /** Host paths of mounts are relative to it. */
  readonly baseDir: string;
  readonly hasInit: boolean;
  /** The image brings a check of its own. */
  readonly hasHealthcheck: boolean;
  /** Host directories that stand at paths of the container. */
  readonly volumes: ReadonlyMap<string, string>;
}

/** The body that creates a container which waits for commands. */
export function planContainer(options: ContainerPlanOptions): Record<string, unknown> {
  const { request, config, hasInit } = options;
  const usesInit = config.init ?? hasInit;
  return {
    Image: request.image,
    Hostname: request.name.slice(0, 63),
    Entrypoint: usesInit ? keeperUnderInit : keeperAlone,
    Cmd: [],
    ...(config.user === undefined ? {} : { User: config.user }),
    Labels: { ...request.labels, [ownLabel]: "docker" },
    // What an image checks about its own service says nothing about a container that runs something else.
    ...(options.hasHealthcheck ? { Healthcheck: { Test: ["NONE"] } } : {}),
    HostConfig: planHost(options, usesInit),
  };
}

function planHost(options: ContainerPlanOptions, usesInit: boolean): Record<string, unknown> {
  const { request, config } = options;
  const { limits } = request;
  return {
    Init: usesInit,
    RestartPolicy: { Name: "no" },
    LogConfig: { Type: "none" },
    // A quota may be larger than the machine, as tasks may ask; `NanoCpus` is refused then.
    CpuPeriod: cpuPeriodUs,
    CpuQuota: Math.max(1000, Math.round(limits.cpus * cpuPeriodUs)),
    Memory: limits.memoryBytes,
    MemorySwap: limits.memoryBytes,
    PidsLimit: limits.pids ?? defaultPidsLimit,
    ...(config.storage_quota ? { StorageOpt: { size: String(limits.storageBytes) } } : {}),
    ...(config.network === undefined ? {} : { NetworkMode: config.network }),
    ...(config.runtime === undefined ? {} : { Runtime: config.runtime }),
    ...(config.shm_size === undefined ? {} : { ShmSize: config.shm_size }),
    Privileged: config.privileged,
    CapAdd: config.cap_add,
    CapDrop: config.cap_drop,
    ExtraHosts: config.extra_hosts.map((entry) => entry.replace(/^([^:=]+)=/, "$1:")),
    Dns: config.dns,
    Ulimits: Object.entries(config.ulimits).map(([Name, limit]) => {
      const { soft, hard } = typeof limit === "number" ? { soft: limit, hard: limit } : limit;
      return { Name, Soft: soft, Hard: hard };
    }),
    Mounts: planMounts(options),
    ...planDevices(config),
  };
}

function planMounts({ config, baseDir, volumes }: ContainerPlanOptions): Record<string, unknown>[] {
  const asked = config.mounts.map(({ type, source, target, read_only }) => ({
    Type: type,
    ...(source === undefined ? {} : { Source: type === "bind" ? resolve(baseDir, source) : source }),
    Target: target,
    ReadOnly: read_only,
  }));
  const own = [...volumes].map(([target, source]) => ({ Type: "bind", Source: source, Target: target }));
  return [...asked, ...own];
}

function planDevices({ gpus }: DockerConfig): Record<string, unknown> {
  if (gpus === undefined) return {};
  const which = Array.isArray(gpus) ? { DeviceIDs: gpus } : { Count: gpus === "all" ? -1 : gpus };
  return { DeviceRequests: [{ ...which, Capabilities: [["gpu"]] }] };
}
