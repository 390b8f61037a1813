// The local environment behind an adapter to which, and to whose sandboxes, things happen.
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { loadProviderModule, RolloutError } from "rollout-eval/environments";
import type {
  CreateEnvironmentRequest,
  Environment,
  EnvironmentProvider,
  ExecRequest,
  ProviderModule,
} from "rollout-eval/environments";
import { drawFate, type SoakFate } from "./soak-faults.ts";

interface SoakConfig {
  readonly seed: number;
  /** Where what the process held is written at its end. */
  readonly samples: string;
}

/** What the process held when it had begun so many environments, garbage not counted. */
export interface SoakSample {
  readonly environments: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly descriptors: readonly string[];
  readonly timers: number;
}

const environmentsPerSample = 20;

/** The module that a job names with `type`. */
export const providerModule: ProviderModule = {
  name: "soak",
  configSchema: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
  async open(options) {
    const { seed, samples: path } = options.config as SoakConfig;
    const local = await loadProviderModule("local", ".");
    const disk = await local.open({ ...options, config: {} });
    const memory = await local.open({ ...options, config: { storage: "memory" } });
    const folder = join(options.host.cacheDir, "local", "environments");
    const samples: SoakSample[] = [];
    const begun = new Map<string, number>();
    let environments = 0;
    return overlay(disk, {
      async createEnvironment(request: CreateEnvironmentRequest) {
        if (environments++ % environmentsPerSample === 0) samples.push(takeSample(environments));
        const key = request.labels["rollout.trial-key"] ?? "";
        const round = (begun.get(key) ?? 0) + 1;
        begun.set(key, round);
        const fate = drawFate(seed, key);
        await refuseToCreate(fate, round, request.signal);
        // What starts does so late, and after its caller has gone.
        const signal = fate.fault === "start-hangs" ? new AbortController().signal : request.signal;
        const environment = await (fate.isInMemory ? memory : disk).createEnvironment({ ...request, signal });
        return trouble(environment, fate, round, folder);
      },
      async [Symbol.asyncDispose]() {
        await memory[Symbol.asyncDispose]();
        await disk[Symbol.asyncDispose]();
        writeFileSync(path, JSON.stringify([...samples, takeSample(environments)]));
      },
    });
  },
};

async function refuseToCreate({ fault }: SoakFate, round: number, signal: AbortSignal): Promise<void> {
  if (fault === "create-fails" || (fault === "create-fails-once" && round === 1))
    throw new RolloutError("environment_start_failed", "the engine is busy", { transient: true });
  if (fault === "no-room") throw new RolloutError("resource_allocation_failed", "there is no room");
  if (fault === "start-hangs") await sleep(600_000, undefined, { signal }).catch(() => {});
}

function trouble(environment: Environment, fate: SoakFate, round: number, folder: string): Environment {
  const { fault, delayMs } = fate;
  let copies = 0;
  return overlay(environment, {
    async exec(request: ExecRequest) {
      const phase = phaseOf(request);
      if (fault === `${phase}-breaks`) throw new RolloutError("exec_failed", "the connection was reset");
      if (fault === "adapter-bug" && phase === "execute") throw new TypeError("undefined is not a function");
      const kills =
        (fault === "supervisor-dies-once" && phase === "execute" && round === 1) ||
        (fault === "supervisor-dies" && phase === "execute") ||
        (fault === "supervisor-dies-late" && phase === "verify");
      const kill = (): void => void process.kill(firstProcess(folder, environment.id), "SIGKILL");
      const stdout = kills ? { write: kill } : request.stdout;
      return environment.exec({ ...request, stdout, env: { ...request.env, SOAK_FAULT: kills ? "killed" : fault } });
    },
    async copyTo(items, signal) {
      if (fault === "slow-copies") await sleep(delayMs, undefined, { signal });
      if (fault === "copy-fails-once" && round === 1 && copies++ === 0)
        throw new RolloutError("copy_failed", "the connection was reset", { transient: true });
      if (fault === "tests-not-copied" && items.some(({ target }) => target === "/tests"))
        throw new RolloutError("copy_failed", "the connection was reset");
      await environment.copyTo(items, signal);
    },
    async copyFrom(request) {
      if (fault === "slow-copies") await sleep(delayMs, undefined, { signal: request.signal });
      if (fault === "logs-not-copied") throw new RolloutError("copy_failed", "the connection was reset");
      return environment.copyFrom(request);
    },
    async destroy(signal) {
      await environment.destroy(signal);
      if (fault === "unanswered-removal") throw new RolloutError("teardown_failed", "the connection was reset");
    },
  } satisfies Partial<Environment>);
}

function phaseOf({ command }: ExecRequest): "install" | "execute" | "verify" | "other" {
  const words = command.join(" ");
  if (words.includes("/tests/test.sh")) return "verify";
  if (words.endsWith("/install.sh")) return "install";
  return words.endsWith("/execute.sh") ? "execute" : "other";
}

function firstProcess(folder: string, id: string): number {
  const record = JSON.parse(readFileSync(join(folder, id, "record.json"), "utf8")) as { first: { pid: number } };
  return record.first.pid;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function takeSample(environments: number): SoakSample {
  collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  const descriptors = readdirSync("/proc/self/fd").flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      return [];
    }
  });
  const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  return { environments, heapBytes: heapUsed + external, residentBytes: rss, descriptors, timers };
}

/** An object of which some members are others'; the rest is asked of the given one itself. */
function overlay<T extends Environment | EnvironmentProvider>(inner: T, over: Partial<T>): T {
  return new Proxy(inner, {
    get(target, name) {
      if (Object.hasOwn(over, name)) return Reflect.get(over, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
