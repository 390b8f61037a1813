import { expect, test } from "vitest";
import { dockerConfigSchema } from "./docker-config-schema.ts";
import { planContainer } from "./plan-container.ts";

const request = {
  image: "debian",
  name: "trial-1",
  limits: { cpus: 1.5, memoryBytes: 2e9, storageBytes: 1e10 },
  labels: { "rollout.run": "r" },
};

function plan(config: object, hasInit = true): Record<string, unknown> & { HostConfig: Record<string, unknown> } {
  const options = {
    request,
    config: dockerConfigSchema.parse(config),
    baseDir: "/jobs",
    hasInit,
    hasHealthcheck: false,
    volumes: new Map(),
  };
  return planContainer(options) as ReturnType<typeof plan>;
}

test("an empty config is a container with limits, an init, no restart and our labels", () => {
  const { HostConfig, ...container } = plan({});
  expect(container).toMatchObject({ Image: "debian", Labels: { "rollout.run": "r", "rollout.environment": "docker" } });
  expect(container).not.toHaveProperty("User");
  expect(HostConfig).toMatchObject({
    CpuPeriod: 100_000,
    CpuQuota: 150_000,
    Memory: 2e9,
    MemorySwap: 2e9,
    Init: true,
    RestartPolicy: { Name: "no" },
    Privileged: false,
  });
  expect(HostConfig).not.toHaveProperty("StorageOpt");
  expect(HostConfig).not.toHaveProperty("NetworkMode");
});

test("every key reaches the engine under the engine's own name", () => {
  const { HostConfig, User } = plan({
    network: "lab",
    runtime: "runsc",
    user: "1000:1000",
    mounts: [
      { source: "./data", target: "/data", read_only: true },
      { type: "volume", source: "cache", target: "/cache" },
    ],
    gpus: 2,
    privileged: true,
    cap_add: ["NET_ADMIN"],
    cap_drop: ["ALL"],
    shm_size: "64Mi",
    ulimits: { nofile: 1024, core: { soft: 0, hard: 5 } },
    extra_hosts: ["db:10.0.0.1", "six=::1"],
    dns: ["10.0.0.2"],
    init: false,
    storage_quota: true,
  });
  expect(User).toBe("1000:1000");
  expect(HostConfig).toMatchObject({
    NetworkMode: "lab",
    Runtime: "runsc",
    Mounts: [
      { Type: "bind", Source: "/jobs/data", Target: "/data", ReadOnly: true },
      { Type: "volume", Source: "cache", Target: "/cache", ReadOnly: false },
    ],
    DeviceRequests: [{ Count: 2, Capabilities: [["gpu"]] }],
    Privileged: true,
    CapAdd: ["NET_ADMIN"],
    CapDrop: ["ALL"],
    ShmSize: 64 * 2 ** 20,
    Ulimits: [
      { Name: "nofile", Soft: 1024, Hard: 1024 },
      { Name: "core", Soft: 0, Hard: 5 },
    ],
    ExtraHosts: ["db:10.0.0.1", "six:::1"],
    Dns: ["10.0.0.2"],
    Init: false,
    StorageOpt: { size: "10000000000" },
  });
});

test("all devices and some devices are asked for in their own way", () => {
  expect(plan({ gpus: "all" }).HostConfig["DeviceRequests"]).toMatchObject([{ Count: -1 }]);
  expect(plan({ gpus: ["0", "GPU-1"] }).HostConfig["DeviceRequests"]).toMatchObject([{ DeviceIDs: ["0", "GPU-1"] }]);
});

test("without an init of the engine the main process reaps what is orphaned", () => {
  expect(plan({}, false).HostConfig["Init"]).toBe(false);
  expect(plan({}, false)["Entrypoint"]).toContain("sh");
});

test.each([
  { netwerk: "x" },
  { gpus: 0 },
  { gpus: "some" },
  { shm_size: "lots" },
  { mounts: [{ source: "x", target: "relative" }] },
  { mounts: [{ source: "x", target: "/logs" }] },
  { mounts: [{ type: "tmpfs", target: "/tmp" }] },
  { mounts: [{ source: "x", target: "/app/../tests/data" }] },
  { extra_hosts: ["nohost"] },
  { pull: "sometimes" },
  { build: { secrets: { id: { value: "in the clear" } } } },
  { price_per_hour: -1 },
  { ulimits: { nofile: { soft: 1 } } },
])("%j is refused", (config) => expect(dockerConfigSchema.safeParse(config).success).toBe(false));
