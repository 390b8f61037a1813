import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { readHost } from "../../base/host.ts";
import { noSecrets } from "../../base/redactor.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Environment, EnvironmentProvider, TaskEnvironment } from "../environment.ts";
import { collect, runCommand } from "../conformance/run-command.ts";
import type { FaultPoint } from "./fault-gate.ts";
import type { MemoryCall, MemoryHandler, MemoryProcess } from "./memory-handler.ts";
import { createMemoryProvider, memoryProviderModule, type MemoryProviderOptions } from "./memory-provider.ts";

const { signal } = new AbortController();
const limits = { cpus: 1, memoryBytes: 2 ** 30, storageBytes: 2 ** 30 };
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rollout-memory-"));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

function start(provider: EnvironmentProvider, image = "memory"): Promise<Environment> {
  return provider.createEnvironment({ image, name: "one", limits, place: [], labels: { job: "j" }, signal });
}

function startWith(handler: MemoryHandler, options: Partial<MemoryProviderOptions> = {}): Promise<Environment> {
  return start(createMemoryProvider({ handler, ...options }));
}

function task(overrides: Partial<TaskEnvironment> = {}): TaskEnvironment {
  return { taskName: "t", contextDir: null, dockerImage: null, forceBuild: false, limits, ...overrides };
}

describe("commands", () => {
  test("the handler sees the whole call and answers with output and an exit code", async () => {
    const calls: MemoryCall[] = [];
    const environment = await startWith(async (call) => {
      calls.push(call);
      void call.stdout("out ");
      await call.stdout(Buffer.from("more"));
      await call.stderr("err");
      return 3;
    });
    const result = await runCommand(environment, ["run", "it"], { signal, env: { A: "1" }, cwd: "sub", user: "me" });
    expect(result).toMatchObject({ exitCode: 3, signal: null, outOfMemory: false });
    expect([result.stdout.toString(), result.stderr.toString()]).toEqual(["out more", "err"]);
    expect(calls[0]).toMatchObject({
      command: ["run", "it"],
      env: { A: "1" },
      cwd: "/app/sub",
      user: "me",
      labels: { job: "j" },
    });
    expect(calls[0]?.environmentId).toBe(environment.id);
  });

  test("the handler works on the environment's files, relative to its directory", async () => {
    const environment = await startWith(({ files }) => {
      files.write("out/a.txt", files.readText("/tmp/in"));
      files.remove("/tmp/in");
      return files.list("out").length === 1 && files.exists(files.resolve("out/a.txt")) ? 0 : 1;
    });
    await environment.copyTo([{ kind: "file", content: "42", target: "/tmp/in", mode: 0o644 }], signal);
    expect((await runCommand(environment, ["copy"], { signal })).exitCode).toBe(0);
    await environment.copyFrom({ source: "/app/out", target: join(dir, "out"), signal });
    expect(readFileSync(join(dir, "out/a.txt"), "utf8")).toBe("42");
  });

  test("a handler can end as if by a signal or out of memory", async () => {
    const environment = await startWith(() => ({ exitCode: null, signal: "SIGKILL", outOfMemory: true }));
    const { stdout, stderr, ...result } = await runCommand(environment, ["x"], { signal });
    expect(result).toEqual({ exitCode: null, signal: "SIGKILL", outOfMemory: true });
    expect(stdout.length + stderr.length).toBe(0);
  });

  test("a handler that throws is a failed exec, and a RolloutError goes through as it is", async () => {
    const lost = new RolloutError("environment_lost", "gone", { transient: true });
    const environment = await startWith(({ command }) => {
      throw command[0] === "lost" ? lost : new TypeError("a bug");
    });
    await expect(runCommand(environment, ["lost"], { signal })).rejects.toBe(lost);
    await expect(runCommand(environment, ["bug"], { signal })).rejects.toMatchObject({ code: "exec_failed" });
  });

  test("output waits for a slow sink, in order", async () => {
    const gate = Promise.withResolvers<void>();
    const taken: string[] = [];
    const sink = {
      async write(chunk: Uint8Array) {
        await gate.promise;
        taken.push(Buffer.from(chunk).toString());
      },
    };
    const environment = await startWith((call) => {
      for (const part of ["1", "2", "3"]) void call.stdout(part);
      return 0;
    });
    const running = runCommand(environment, ["x"], { signal, stdout: sink });
    expect(taken).toEqual([]);
    gate.resolve();
    await running;
    expect(taken).toEqual(["1", "2", "3"]);
  });

  test("an abort ends a handler that ignores it, kills what it spawned and drops what comes late", async () => {
    const controller = new AbortController();
    const reason = new Error("deadline");
    const late = Promise.withResolvers<void>();
    const started = Promise.withResolvers<MemoryCall>();
    let child: MemoryProcess | undefined;
    const environment = await startWith(async (call) => {
      child = call.spawn("server");
      await call.stdout("early");
      started.resolve(call);
      await late.promise;
      await call.stdout("late");
      return 0;
    });
    const stdout = collect();
    const running = runCommand(environment, ["x"], { signal: controller.signal, stdout });
    const call = await started.promise;
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(child?.signal.aborted).toBe(true);
    expect(await environment.listProcesses(signal)).toEqual([]);
    expect(() => call.files.write("x", "")).toThrow(/no longer running/);
    late.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(stdout.text()).toBe("early");
  });

  test("what a command spawned lives on, is listed, and can act until it is killed", async () => {
    let call: MemoryCall | undefined;
    let child: MemoryProcess | undefined;
    const environment = await startWith((given) => {
      call = given;
      child = given.spawn("server --port 80");
      given.spawn("short").exit();
      return 0;
    });
    await runCommand(environment, ["x"], { signal });
    expect(await environment.listProcesses(signal)).toEqual([{ pid: child?.pid, command: "server --port 80" }]);
    call?.files.write("/logs/alive", "");
    await environment.killProcesses(signal);
    expect(child?.signal.aborted).toBe(true);
    expect(await environment.listProcesses(signal)).toEqual([]);
    expect(() => call?.files.write("/logs/dead", "")).toThrow(/no longer running/);
  });

  test("killing the processes ends a running command as a signal would", async () => {
    const environment = await startWith(() => new Promise(() => {}));
    const running = runCommand(environment, ["x"], { signal });
    await environment.listProcesses(signal);
    await environment.killProcesses(signal);
    expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL" });
  });

  test("a frozen command neither writes nor ends until it is destroyed with its environment", async () => {
    const go = Promise.withResolvers<void>();
    const started = Promise.withResolvers<MemoryCall>();
    const environment = await startWith(async (call) => {
      started.resolve(call);
      await go.promise;
      await call.stdout("late");
      return 0;
    });
    const stdout = collect();
    const running = runCommand(environment, ["x"], { signal, stdout });
    running.catch(() => {});
    const call = await started.promise;
    await environment.freeze(signal);
    go.resolve();
    expect(() => call.files.write("x", "")).toThrow();
    await expect(runCommand(environment, ["y"], { signal })).rejects.toMatchObject({ code: "exec_failed" });
    await environment.destroy(signal);
    await expect(running).rejects.toMatchObject({ code: "environment_lost" });
    expect(stdout.text()).toBe("");
  });

  test("stopping and destroying reject what runs as lost", async () => {
    const environment = await startWith(() => new Promise(() => {}));
    const running = runCommand(environment, ["x"], { signal });
    running.catch(() => {});
    await environment.listProcesses(signal);
    await environment.stop(signal);
    await expect(running).rejects.toMatchObject({ code: "environment_lost", transient: true });
    await expect(runCommand(environment, ["x"], { signal })).rejects.toThrow(/stopped/);
    await environment.destroy(signal);
    await expect(runCommand(environment, ["x"], { signal })).rejects.toMatchObject({ code: "environment_lost" });
  });
});

describe("images", () => {
  test("a Dockerfile is built, a docker image is pulled, and force_build prefers the Dockerfile", async () => {
    const provider = createMemoryProvider({ handler: () => 0 });
    writeFileSync(join(dir, "Dockerfile"), "FROM a\nWORKDIR /first\nFROM b\nworkdir /srv\nWORKDIR app\n");
    const image = async (overrides: Partial<TaskEnvironment>) =>
      (await provider.checkTask(task(overrides), signal)).image;
    expect(await image({})).toEqual({ kind: "base", key: "memory", ref: "memory" });
    expect(await image({ contextDir: dir })).toMatchObject({ kind: "build", noCache: false });
    expect(await image({ contextDir: dir, dockerImage: "x:1" })).toEqual({ kind: "pull", key: "x:1", ref: "x:1" });
    const plan = await image({ contextDir: dir, dockerImage: "x:1", forceBuild: true });
    if (plan?.kind !== "build") throw new Error("expected a build");
    const output = collect();
    const built = await provider.buildImage({ plan, output, labels: {}, signal });
    expect(output.text()).toBe(`built ${built}\n`);
    expect((await start(provider, built)).workdir).toBe("/srv/app");
  });

  test("force_build without a Dockerfile is a problem", async () => {
    const provider = createMemoryProvider({ handler: () => 0 });
    const check = await provider.checkTask(task({ contextDir: dir, forceBuild: true, dockerImage: "x" }), signal);
    expect(check.problems).toHaveLength(1);
    expect(check.image).toBeNull();
  });

  test("an image that was neither built nor pulled cannot be started", async () => {
    const provider = createMemoryProvider({ handler: () => 0 });
    await expect(start(provider, "unknown")).rejects.toMatchObject({ code: "environment_start_failed" });
    const plan = { kind: "pull", key: "unknown", ref: "unknown" } as const;
    expect((await start(provider, await provider.pullImage({ plan, output: collect(), signal }))).workdir).toBe("/app");
  });
});

describe("faults, price and capabilities", () => {
  test("the hook is asked before every operation and counts attempts", async () => {
    const points: FaultPoint[] = [];
    const provider = createMemoryProvider({ handler: () => 0, faults: (point) => void points.push(point) });
    await provider.probe(signal);
    const plan = { kind: "pull", key: "x", ref: "x" } as const;
    const environment = await start(provider, await provider.pullImage({ plan, output: collect(), signal }));
    await runCommand(environment, ["x"], { signal });
    await runCommand(environment, ["x"], { signal });
    await environment.copyTo([], signal);
    await environment.copyFrom({ source: "/logs", target: join(dir, "logs"), signal });
    await environment.listProcesses(signal);
    await environment.killProcesses(signal);
    await environment.freeze(signal);
    await environment.stop(signal);
    await environment.destroy(signal);
    await environment.destroy(signal);
    expect(points.map(({ operation, attempt }) => `${operation} ${attempt}`)).toEqual([
      "probe 1",
      "pull 1",
      "create 1",
      "exec 1",
      "exec 2",
      "copyTo 1",
      "copyFrom 1",
      "list 1",
      "kill 1",
      "freeze 1",
      "stop 1",
      "destroy 1",
    ]);
    expect(points[3]).toMatchObject({ environment: "one", image: "x", labels: { job: "j" } });
  });

  test("a hook that throws fails the operation, and the next attempt may succeed", async () => {
    const failure = new RolloutError("resource_allocation_failed", "no room", { transient: true });
    const provider = createMemoryProvider({
      handler: () => 0,
      faults({ operation, attempt }) {
        if (operation === "create" && attempt === 1) throw failure;
      },
    });
    await expect(start(provider)).rejects.toBe(failure);
    expect(await provider.findEnvironments({}, signal)).toEqual([]);
    await start(provider);
    expect(await provider.findEnvironments({ job: "j" }, signal)).toHaveLength(1);
  });

  test("a hook that ignores its signal makes an environment that starts after its deadline", async () => {
    const controller = new AbortController();
    const gate = Promise.withResolvers<void>();
    const faults = ({ operation }: FaultPoint) => (operation === "create" ? gate.promise : undefined);
    const provider = createMemoryProvider({ handler: () => 0, faults });
    const request = { image: "memory", name: "late", limits, place: [], labels: {}, signal: controller.signal };
    const creating = provider.createEnvironment(request);
    controller.abort();
    gate.resolve();
    expect((await creating).id).toContain("late");
  });

  test("the cost follows the clock and stops with the environment", async () => {
    const clock = new FakeClock();
    const environment = await startWith(() => 0, { clock, pricePerHour: 2 });
    expect(environment.cost()).toBe(0);
    await clock.advance(1_800_000);
    expect(environment.cost()).toBe(1);
    await environment.stop(signal);
    await clock.advance(1_800_000);
    expect(environment.cost()).toBe(1);
  });

  test("what is not a capability is refused, and what is made one works", async () => {
    const plain = await startWith(() => 0, { capabilities: { stop: false, freeze: false } });
    await expect(plain.stop(signal)).rejects.toMatchObject({ code: "unsupported" });
    await expect(plain.freeze(signal)).rejects.toMatchObject({ code: "unsupported" });
    await expect(plain.setNetwork("none", signal)).rejects.toMatchObject({ code: "unsupported" });
    const seen: unknown[] = [];
    const cut = await startWith((call) => (seen.push(call.network), 0), { capabilities: { network: ["none"] } });
    await cut.setNetwork("none", signal);
    await runCommand(cut, ["x"], { signal });
    expect(seen).toEqual(["none"]);
  });
});

describe("the module", () => {
  const host = readHost(process);
  const open = (config: unknown) => {
    const rest = { timeoutMultiplier: 1, host, redactor: noSecrets, log: silentLog, signal };
    return memoryProviderModule.open({ config, baseDir: dir, clock: new FakeClock(), ...rest });
  };

  test("a TypeScript module beside the job file answers the commands", async () => {
    mkdirSync(join(dir, "lib"));
    writeFileSync(
      join(dir, "lib/handler.ts"),
      "export const handler = (call: { command: string[] }): number => call.command.length;\n",
    );
    const environment = await start(await open({ handler: "./lib/handler.ts", price_per_hour: 0 }));
    expect((await runCommand(environment, ["a", "b"], { signal })).exitCode).toBe(2);
  });

  test("a handler that is missing, broken or of another kind is a configuration error that names the file", async () => {
    writeFileSync(join(dir, "broken.ts"), "throw new Error('at import');\n");
    writeFileSync(join(dir, "none.ts"), "export const handler = 3;\n");
    for (const [handler, message] of [
      ["missing.ts", /does not exist/],
      ["broken.ts", /at import/],
      ["none.ts", /no function/],
    ] as const) {
      const failure = await open({ handler }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: "config_invalid", message: expect.stringMatching(message) });
      expect(failure).toMatchObject({ message: expect.stringContaining(join(dir, handler)) });
    }
  });
});
