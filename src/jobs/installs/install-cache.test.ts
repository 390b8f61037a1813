import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { RolloutError } from "../../base/rollout-error.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { runJobOnRig, type RigOptions } from "../testing/job-rig.ts";
import type { RigCall } from "../testing/acts.ts";
import { MemorySnapshots } from "../../environments/memory/memory-snapshots.ts";
import { InstallCache } from "./install-cache.ts";
import { installKey } from "./install-key.ts";
import { readMachineKey } from "./machine-key.ts";

const agent = { name: "a", install: "get the program", execute: "work", cache: true };
const secret = "a-secret-of-some-length";

function cachedJob(options: RigOptions & { readonly agent?: Record<string, unknown> } = {}) {
  const { agent: keys, config, ...rest } = options;
  return runJobOnRig({ config: { agents: [{ ...agent, ...keys }], n_attempts: 4, ...config }, ...rest });
}

function install({ files }: RigCall): number {
  files.write("/opt/program", "installed");
  return 0;
}

const setupsOf = (job: Awaited<ReturnType<typeof cachedJob>>): boolean[] =>
  [1, 2, 3, 4]
    .map((attempt) => job.trial(`a/set/one__${attempt}`).agent_setup_cached)
    .sort((a, b) => Number(a) - Number(b));

const isWarnedOf = (job: Awaited<ReturnType<typeof cachedJob>>, text: string): number =>
  job.result.warnings.filter((warning) => warning.includes(text)).length;

describe("an agent with cache", () => {
  test("is installed once for trials that run at once, and each of them finds what the install left", async () => {
    const calls: string[] = [];
    const job = await cachedJob({
      script: {
        install: (call) => {
          calls.push(call.key);
          return install(call);
        },
        execute: ({ files }) => (Buffer.from(files.read("/opt/program")).toString() === "installed" ? 0 : 1),
      },
    });
    expect(job.result.completed_trials).toBe(4);
    expect(calls).toHaveLength(1);
    expect(setupsOf(job)).toEqual([false, true, true, true]);
    const cached = [1, 2, 3, 4].map((n) => `a/set/one__${n}`).find((key) => key !== calls[0]);
    expect(job.text(`${cached}/setup/stdout.txt`)).toMatch(/did not run in this trial.*memory-snapshot:[0-9a-f]{40}/);
    expect(job.text(`${cached}/setup/stderr.txt`)).toBe("");
  });

  test("gives every task its own instruction, and nothing of ours or of another task", async () => {
    const seen: string[] = [];
    const job = await cachedJob({
      tasks: {
        one: { files: { "instruction.md": "first task" } },
        two: { files: { "instruction.md": "second task" } },
      },
      config: { n_attempts: 1, n_concurrent_trials: 1 },
      script: {
        install,
        execute: ({ files, key }) => {
          seen.push(`${key} ${Buffer.from(files.read("/tmp/instruction.md")).toString().trim()}`);
          return files.exists("/tmp/.rollout/install.sh") && key.includes("two") ? 1 : 0;
        },
      },
    });
    expect(job.result.completed_trials).toBe(2);
    expect(seen).toEqual(["a/set/one__1 first task", "a/set/two__1 second task"]);
    expect(job.trial("a/set/two__1").agent_setup_cached).toBe(true);
  });

  test("a failed install is never kept", async () => {
    let count = 0;
    const job = await cachedJob({
      config: { n_concurrent_trials: 1 },
      script: { install: (call) => (++count === 1 ? 1 : install(call)) },
    });
    expect(job.result.errors).toEqual({ agent_install_failed: 1 });
    expect(count).toBe(2);
    expect(setupsOf(job)).toEqual([false, false, true, true]);
  });

  test("of those who need one install the first has the turn, and who waited in vain installs on its own", async () => {
    const cache = new InstallCache({
      store: new MemorySnapshots().store(() => new Set()),
      cacheDir: makeRoot(),
      instructionPath: "/tmp/instruction.md",
      network: "full",
      secrets: [],
      onWarning: () => {},
    });
    const wanted = { ...agent, description: null, env: {}, nConcurrent: null, isCached: true };
    const { signal } = new AbortController();
    const first = await cache.take(wanted, "image", signal);
    const waiting = cache.take(wanted, "image", signal);
    const other = await cache.take(wanted, "another image", signal);
    if (first.kind !== "bake" || other.kind !== "bake") throw new Error("the first ones have the turn");
    expect(other.key).not.toBe(first.key);
    first.settle(null);
    expect(await waiting).toEqual({ kind: "fresh" });
    const next = await cache.take(wanted, "image", signal);
    if (next.kind !== "bake") throw new Error("a failed one does not end the matter");
    first.settle(null);
    const later = cache.take(wanted, "image", signal);
    // By the time that another's turn is known, this one waits.
    await cache.take(wanted, "a third image", signal);
    next.settle("baked");
    expect(await later).toEqual({ kind: "cached", ref: "baked" });
  });

  test.each([
    ["as it is", secret],
    ["in base64", Buffer.from(`user:${secret}`).toString("base64")],
  ])("an install that wrote a secret to a file %s is not kept, and the job is warned once", async (_how, text) => {
    const job = await cachedJob({
      agent: { env: { TOKEN: "${TOKEN}" } },
      env: { TOKEN: secret },
      script: {
        install: ({ files }) => {
          files.write("/root/.config/login", `key=${text}\n`);
          return 0;
        },
        execute: ({ files }) => (files.exists("/root/.config/login") ? 0 : 1),
      },
    });
    expect(job.result.completed_trials).toBe(4);
    expect(setupsOf(job)).toEqual([false, false, false, false]);
    expect(isWarnedOf(job, "not cached")).toBe(1);
    expect(isWarnedOf(job, "it wrote the value of TOKEN to /root/.config/login")).toBe(1);
  });

  test("an install that leaves something running is not kept", async () => {
    const job = await cachedJob({
      script: {
        install: (call) => {
          call.spawn("a server");
          return install(call);
        },
      },
    });
    expect(setupsOf(job)).toEqual([false, false, false, false]);
    expect(isWarnedOf(job, "it left a server running")).toBe(1);
  });

  test("a snapshot that cannot be made costs a warning and no trial", async () => {
    const faults: RigOptions["faults"] = ({ operation }) => {
      if (operation === "snapshot") throw new Error("no room");
    };
    const job = await cachedJob({ script: { install }, faults });
    expect(job.result.completed_trials).toBe(4);
    expect(isWarnedOf(job, "not cached: no room")).toBe(1);
  });

  test("one that waits for its next try keeps nobody else waiting", async () => {
    const faults: RigOptions["faults"] = ({ operation, attempt, labels }) => {
      if (operation !== "create" || attempt > 1 || labels["rollout.trial-key"] !== "a/set/one__1") return;
      throw new RolloutError("environment_start_failed", "not now", { transient: true });
    };
    const retry = { max_attempts: 2, initial_delay_ms: 200 };
    const job = await cachedJob({ script: { install }, faults, config: { n_concurrent_trials: 1, retry } });
    expect(job.result.completed_trials).toBe(4);
    expect(setupsOf(job)).toEqual([false, false, true, true]);
  });

  test("an environment that cannot do it is a configuration error before the start", async () => {
    await expect(cachedJob({ capabilities: { snapshots: false } })).rejects.toMatchObject({
      code: "config_invalid",
      problems: [{ path: "agents[0].cache", message: expect.stringContaining("cannot save an install") }],
    });
  });

  test("cache without an install script is a configuration error", async () => {
    await expect(cachedJob({ agent: { install: undefined } })).rejects.toMatchObject({
      problems: [{ path: "agents[0].cache", message: expect.stringContaining("without an install script") }],
    });
  });

  test("without cache every trial installs", async () => {
    let count = 0;
    const job = await cachedJob({ agent: { cache: false }, script: { install: () => (++count > 0 ? 0 : 1) } });
    expect(count).toBe(4);
    expect(setupsOf(job)).toEqual([false, false, false, false]);
  });
});

describe("the key of an install", () => {
  const inputs = { image: "i", script: "s", env: { A: "1", B: "2" }, instructionPath: "/i", network: "full" } as const;

  test("depends on all that changes the install, and not on the order of variables", () => {
    const key = Buffer.alloc(32, 1);
    const one = installKey(key, inputs);
    expect(one).toMatch(/^[0-9a-f]{40}$/);
    expect(installKey(key, { ...inputs, env: { B: "2", A: "1" } })).toBe(one);
    const others = [
      { image: "j" },
      { script: "t" },
      { env: { A: "1", B: "3" } },
      { env: { A: "1" } },
      { instructionPath: "/j" },
      { network: "none" as const },
    ].map((change) => installKey(key, { ...inputs, ...change }));
    expect(new Set([one, ...others]).size).toBe(others.length + 1);
    expect(installKey(Buffer.alloc(32, 2), inputs)).not.toBe(one);
  });

  test("the machine's part of it is made once and is nobody else's to read", () => {
    const dir = join(makeRoot(), "cache");
    const key = readMachineKey(dir);
    expect(key).toHaveLength(32);
    expect(readMachineKey(dir)).toEqual(key);
    expect(statSync(join(dir, "install-key")).mode & 0o777).toBe(0o600);
    expect(readMachineKey(join(makeRoot(), "cache"))).not.toEqual(key);
  });
});
