import { expect, test } from "vitest";
import { checkProviderConfig } from "../provider-config.ts";
import { dockerConfigSchema } from "./docker-config-schema.ts";
import { dockerProviderModule } from "./docker-provider.ts";
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
  { extra_hosts: ["db:not-an-address"] },
  { dns: ["name"] },
  { cap_add: ["NOTHING"] },
  { cap_drop: ["CAP_"] },
  { mounts: [{ target: "/data" }] },
  { mounts: [{ type: "tmpfs", source: "x", target: "/data" }] },
  { ulimits: { files: 1 } },
  { ulimits: { nofile: { soft: 2, hard: 1 } } },
  { ulimits: { nofile: { soft: -1, hard: 1 } } },
  { pull: "sometimes" },
  { build: { secrets: { id: { value: "in the clear" } } } },
  { price: -1 },
  { price_per_hour: -1 },
  { ulimits: { nofile: { soft: 1 } } },
])("%j is refused", (config) => expect(dockerConfigSchema.safeParse(config).success).toBe(false));

test.each([
  { cap_add: ["net_admin", "CAP_SYS_ADMIN", "ALL"] },
  { extra_hosts: ["me:host-gateway", "six:[::1]"] },
  { mounts: [{ type: "tmpfs", target: "/data" }] },
  { mounts: [{ type: "volume", target: "/data" }] },
  { ulimits: { core: { soft: 5, hard: -1 }, nofile: -1 } },
])("%j is taken", (config) => expect(dockerConfigSchema.safeParse(config).error).toBeUndefined());

async function complaints(config: unknown): Promise<string[]> {
  const { issues = [] } = await checkProviderConfig(dockerProviderModule, config);
  return issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

test.each([
  [{ gpus: "some" }, 'gpus: expected "all", how many, or a list of the ids of devices'],
  [{ gpus: 0 }, "gpus: must be more than 0, got 0"],
  [{ shm_size: [] }, "shm_size: expected a number of bytes, such as 64Mi or 1G"],
  [{ ulimits: { nofile: "many" } }, "ulimits.nofile: expected a number or { soft, hard }, where -1 is no limit"],
  [{ ulimits: { nofile: { soft: 1 } } }, "ulimits.nofile.hard: is required (a number)"],
  [{ ulimits: { nofiles: 1 } }, 'ulimits.nofiles: unknown limit; did you mean "nofile"?'],
  [{ build: { secrets: { key: "in the clear" } } }, "build.secrets.key: expected { env: NAME } or { file: path }"],
  [{ mounts: ["./a:/a"] }, 'mounts.0: expected a table, got "./a:/a"; its keys are type, source, target, read_only'],
  [{ privileged: "yes" }, 'privileged: expected true or false, got "yes"'],
  [{ pull: "rarely" }, 'pull: expected one of missing, always, never, got "rarely"'],
])("what is wrong with %j is told in words", async (config, complaint) => {
  expect(await complaints(config)).toEqual([complaint]);
});

test("no key has only the schema library's words for a value that it does not take", async () => {
  const values = [null, -1.5, "", "word", true, [], ["word"], [7], [{}], { a: 1 }, { a: { b: 1 } }];
  for (const key of Object.keys(dockerConfigSchema.shape))
    for (const value of values)
      for (const complaint of await complaints({ [key]: value }))
        expect(complaint).not.toMatch(/Invalid|Too (small|big)|Unrecognized|received/);
});
