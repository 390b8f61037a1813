import { randomUUID } from "node:crypto";
import { execFile } from "node:child_process";
import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { findAbandoned } from "../../src/jobs/abandoned-environments.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import { readHost } from "../../src/base/host.ts";
import { RolloutError } from "../../src/base/rollout-error.ts";
import { collect } from "../../src/environments/conformance/run-command.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";
import { openTestEngine } from "../engines/open-test-engine.ts";
import { openCuttableProxy } from "./docker/cuttable-proxy.ts";
import { makeRoom, openRoom } from "./docker/engine-room.ts";
import { openDocker } from "./docker/open-docker.ts";

const never = new AbortController().signal;
const base = "FROM debian:bookworm-slim\n";
const run = promisify(execFile);

// Two loops at once, until the kernel has held them up some times; then its own count of periods, of those in which they
// were held up, and of the microseconds that were used.
const spinScript = `cd /sys/fs/cgroup
count() { cat cpu.stat cpu/cpu.stat 2>/dev/null | grep "^$1 " | cut -d ' ' -f 2; }
used() { if [ -e cpu.stat ]; then count usage_usec; else echo $(($(cat cpuacct/cpuacct.usage) / 1000)); fi; }
spin() { while :; do :; done; }
spin & spin &
before=$(used); first=$(count nr_periods)
for round in {1..1200}; do [ "$(count nr_throttled)" -ge 10 ] && break; sleep 0.1; done
echo $(($(count nr_periods) - first)) $(count nr_throttled) $(($(used) - before))
kill %1 %2`;

for (const { name, env, reason } of await findEngines()) {
  const open = (config: Record<string, unknown> = {}) => openRoom(env, config);
  const on = (title: string, work: () => Promise<void>): void => {
    test(title, async (context) => {
      if (reason !== null) cannotRun(context, reason);
      await work();
    });
  };

  describe(`images on ${name}:`, () => {
    on("arguments, a target and the ignore file reach the builder", async () => {
      const { build, create, run } = await open({ build: { args: { WORD: "given" }, target: "middle" } });
      const dockerfile = `${base.trim()} AS middle\nARG WORD=none\nRUN echo $WORD > /word\nCOPY . /context/\nFROM middle\nRUN touch /last\n`;
      const { image } = await build({
        Dockerfile: dockerfile,
        ".dockerignore": "secret*\n",
        "secret.txt": "",
        "kept.txt": "",
      });
      const environment = await create({ image });
      const { stdout } = await run(environment, "cat /word; ls /context; test ! -e /last");
      expect(stdout.toString()).toBe("given\nDockerfile\nkept.txt\n");
    });

    on("the same content is built once, and again without cache when that is forced", async () => {
      const { build, create, run } = await open();
      const step = `RUN echo ${crypto.randomUUID()} && cat /proc/sys/kernel/random/uuid > /id`;
      const idOf = async ({ image }: { image: string }) =>
        (await run(await create({ image }), "cat /id")).stdout.toString();
      const build1 = await build({ Dockerfile: `${base}${step}\n` });
      const first = await idOf(build1);
      const build2 = await build({ Dockerfile: `${base}${step}\n` });
      expect(build1.log).not.toContain("there already");
      expect(build2.log).toContain("there already");
      expect(await idOf(build2)).toBe(first);
      expect(await idOf(await build({ Dockerfile: `${base}${step}\n` }, true))).not.toBe(first);
    });

    on("two who build the same at once both get it", async () => {
      const step = `RUN echo ${crypto.randomUUID()} && sleep 1`;
      const files = { Dockerfile: `${base}COPY word /\n${step}\n`, word: "said" };
      const [one, other] = [await open(), await open()];
      const [first, second] = await Promise.all([one.build(files), other.build(files)]);
      expect(second.image).toBe(first.image);
      const environment = await one.create({ image: first.image });
      expect((await one.run(environment, "cat /word")).stdout.toString()).toBe("said");
    });

    on("a step that fails is told with the end of what it printed", async () => {
      const { build } = await open();
      const building = build({ Dockerfile: `${base}RUN echo the compiler is missing >&2 && exit 7\n` });
      await expect(building).rejects.toMatchObject({
        code: "image_build_failed",
        transient: false,
        message: expect.stringContaining("the compiler is missing"),
      });
    });

    on("a base image that cannot be had is named", async () => {
      const { build } = await open();
      const building = build({ Dockerfile: "FROM localhost:9/no-such/base:1\n" });
      await expect(building).rejects.toMatchObject({
        code: "image_build_failed",
        message: expect.stringContaining("no-such/base"),
      });
    });

    on("an image that cannot be pulled is named, and never pulled when that is forbidden", async () => {
      const plan = { kind: "pull", key: "k", ref: "localhost:9/no-such/image:1" } as const;
      const pulled = (await open()).provider.pullImage({ plan, output: collect(), signal: never });
      await expect(pulled).rejects.toMatchObject({
        code: "image_pull_failed",
        message: expect.stringContaining("localhost:9/no-such/image:1"),
      });
      const forbidden = (await open({ pull: "never" })).provider.pullImage({ plan, output: collect(), signal: never });
      await expect(forbidden).rejects.toThrow("pull is never");
    });

    on("a secret that is not to be had is told before anything is built", async () => {
      const openWith = (secret: object) => openRoom(env, { build: { secrets: { token: secret } } });
      const { provider } = await openWith({ env: "ROLLOUT_TEST_UNSET" });
      const why = name === "docker" ? "the variable ROLLOUT_TEST_UNSET is not set" : "needs BuildKit";
      await expect(provider.probe(never)).rejects.toMatchObject({
        code: "config_invalid",
        message: expect.stringContaining(why),
      });
      const other = await openWith({ file: "no-such-file" });
      await expect(other.provider.probe(never)).rejects.toMatchObject({ code: "config_invalid" });
    });

    if (name === "docker") {
      on("a secret is there for the step that mounts it and in no layer", async () => {
        const config = { build: { secrets: { token: { env: "ROLLOUT_TEST_TOKEN" } } } };
        const room = await openRoom({ ...env, ROLLOUT_TEST_TOKEN: "s3cret-value" }, config);
        const step = "RUN --mount=type=secret,id=token wc -c < /run/secrets/token > /size";
        const shout = "RUN --mount=type=secret,id=token cat /run/secrets/token; exit 3";
        const failed = room.build({ Dockerfile: `${base}${shout}\n` });
        await expect(failed).rejects.toMatchObject({ message: expect.stringContaining("[redacted:token]") });
        await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining("s3cret-value") });
        const { image } = await room.build({ Dockerfile: `${base}${step}\n` });
        const environment = await room.create({ image });
        const { stdout } = await room.run(environment, "cat /size; ls -A /run/secrets 2>&1 | head -1");
        expect(stdout.toString().startsWith("12\n")).toBe(true);
        expect(stdout.toString()).not.toContain("token");
      });
    }
  });

  if (name === "docker") {
    describe("the classic builder of docker, for an engine that has no other:", () => {
      // The last version of the API before engines had BuildKit.
      const openOld = (config: Record<string, unknown> = {}) =>
        openRoom({ ...env, DOCKER_API_VERSION: "1.38" }, config);

      on("builds with arguments, a target and the ignore file, and tells what it does", async () => {
        const { build, create, run } = await openOld({ build: { args: { WORD: "given" }, target: "middle" } });
        const dockerfile = `${base.trim()} AS middle\nARG WORD=none\nRUN echo ${crypto.randomUUID()}; echo $WORD > /word\nCOPY . /context/\nFROM middle\nRUN touch /last\n`;
        const files = { Dockerfile: dockerfile, ".dockerignore": "secret*\n", "secret.txt": "", "kept.txt": "" };
        const { image, log } = await build(files);
        expect(log).toMatch(/^Step 1\/\d+ : FROM debian:bookworm-slim AS middle$/m);
        const { stdout } = await run(await create({ image }), "cat /word; ls /context; test ! -e /last && echo none");
        expect(stdout.toString()).toBe("given\nDockerfile\nkept.txt\nnone\n");
      });

      on("tells the end of what a failed step printed, and names a base image that cannot be had", async () => {
        const { build } = await openOld();
        const step = build({ Dockerfile: `${base}RUN echo the compiler is missing >&2 && exit 7\n` });
        await expect(step).rejects.toMatchObject({
          code: "image_build_failed",
          transient: false,
          message: expect.stringContaining("the compiler is missing"),
        });
        await expect(build({ Dockerfile: "FROM localhost:9/no-such/base:1\n" })).rejects.toMatchObject({
          code: "image_build_failed",
          message: expect.stringContaining("no-such/base"),
        });
      });

      on("has no secrets, which is told before anything is built", async () => {
        const { provider } = await openOld({ build: { secrets: { token: { env: "HOME" } } } });
        await expect(provider.probe(never)).rejects.toMatchObject({
          code: "config_invalid",
          message: expect.stringContaining("needs BuildKit"),
        });
      });
    });
  }

  describe(`containers on ${name}:`, () => {
    on("a busy loop gets no more of the processors than its share", async () => {
      const { create, run } = await open();
      const limits = { cpus: 0.2, memoryBytes: 2 ** 28, storageBytes: 2 ** 30 };
      const { stdout } = await run(await create({ limits }), spinScript);
      const [periods = 0, throttled = 0, usedUs = 0] = stdout.toString().trim().split(" ").map(Number);
      expect(throttled).toBeGreaterThanOrEqual(10);
      // Processors take their part in slices, so that a little more is used than is given.
      expect(usedUs).toBeLessThan((periods + 2) * 20_000 * 1.5);
      expect(usedUs).toBeGreaterThan(0);
    });

    on("directory, user and variables of the image hold for every command", async () => {
      const { build, create, run } = await open();
      const dockerfile = `${base}RUN useradd -m worker\nENV GREETING="hello there"\nWORKDIR /home/worker/job\nUSER worker\n`;
      const environment = await create({ image: (await build({ Dockerfile: dockerfile })).image });
      const { stdout } = await run(environment, 'id -un; pwd; echo "$GREETING"; echo "$HOME"');
      expect(stdout.toString()).toBe("worker\n/home/worker/job\nhello there\n/home/worker\n");
      expect(environment.workdir).toBe("/home/worker/job");
    });

    on("what the settings ask for is to be seen inside", async () => {
      const directory = await makeRoom();
      await writeFile(join(directory, "given"), "from outside\n");
      await chmod(directory, 0o755);
      const { create, run } = await open({
        user: "1234:4321",
        mounts: [
          { source: directory, target: "/given", read_only: true },
          { type: "tmpfs", target: "/scratch" },
        ],
        cap_drop: ["ALL"],
        shm_size: "32Mi",
        // Podman takes more processes for granted than it may give here, and its runtime may raise a soft limit to the hard one.
        ulimits: { nofile: { soft: 200, hard: 200 }, nproc: 4096 },
        extra_hosts: ["lab:10.1.2.3"],
        dns: ["10.9.8.7"],
        init: false,
      });
      const environment = await create();
      const lines = [
        "id -u; id -g",
        "cat /given/given; touch /given/new 2>/dev/null || echo read-only",
        "grep -o ' /scratch tmpfs' /proc/mounts",
        "grep CapBnd /proc/self/status | cut -f2",
        "df -B1 --output=size /dev/shm | tail -1 | tr -d ' '",
        "ulimit -Sn; ulimit -Hn",
        "grep lab /etc/hosts | cut -c1-8; cat /etc/resolv.conf | grep -o 10.9.8.7",
        "tr '\\0' ' ' < /proc/1/cmdline | cut -c1-5",
      ];
      const { stdout } = await run(environment, lines.join("\n"));
      const seen = [
        "1234",
        "4321",
        "from outside",
        "read-only",
        " /scratch tmpfs",
        "0000000000000000",
        `${32 * 2 ** 20}`,
      ];
      expect(stdout.toString().trim().split("\n")).toEqual([...seen, "200", "200", "10.1.2.3", "10.9.8.7", "sh -c"]);
    });

    on("the version of the API is the engine's, or the one that is asked for", async () => {
      const versionOf = async (more: Readonly<Record<string, string>>): Promise<unknown> =>
        (await (await openRoom({ ...env, ...more })).create()).facts["api_version"];
      const engine = await openTestEngine(env);
      const { ApiVersion } = await engine.client.json<{ ApiVersion: string }>({
        method: "GET",
        path: "/version",
        signal: never,
      });
      engine.client[Symbol.dispose]();
      const [, minor = 0] = ApiVersion.split(".").map(Number);
      expect(await versionOf({})).toBe(`1.${Math.min(minor, 47)}`);
      expect(await versionOf({ DOCKER_API_VERSION: "1.40" })).toBe("1.40");
    });

    on("an image that is there is not pulled", async () => {
      const plan = { kind: "pull", key: "k", ref: "debian:bookworm-slim" } as const;
      const output = collect();
      expect(await (await open()).provider.pullImage({ plan, output, signal: never })).toBe(plan.ref);
      expect(output.text()).toBe("debian:bookworm-slim is there already\n");
    });

    on("variables of a command are not to be seen from outside", async () => {
      const { create, run } = await open();
      const environment = await create();
      const engine = await openTestEngine(env);
      await run(environment, "true", { env: { API_KEY: "very-secret-key" } });
      const path = `/containers/${environment.id}/json`;
      const text = await engine.client.text({ method: "GET", path, signal: never });
      engine.client[Symbol.dispose]();
      expect(text).toContain(environment.id);
      expect(text).not.toContain("very-secret-key");
    });

    on("a network that is taken leaves the loopback device, and can be given back", async () => {
      const { create, run } = await open();
      const environment = await create();
      const devices = async (): Promise<string[]> => {
        const { stdout } = await run(environment, "ls /sys/class/net");
        return stdout.toString().trim().split("\n");
      };
      const before = await devices();
      expect(before.length).toBeGreaterThan(1);
      await environment.setNetwork("none", never);
      expect(await devices()).toEqual(["lo"]);
      await environment.setNetwork("full", never);
      expect(await devices()).toHaveLength(before.length);
    });

    if (name === "docker") {
      on("logs are read without the engine, whatever runs beside", async () => {
        const { create, run } = await open();
        const place = [{ kind: "directory", target: "/logs/agent" }] as const;
        await create({ place });
        const environment = await create({ place });
        const { stdout } = await run(environment, "grep -c ' /logs ' /proc/self/mounts; stat -c %a /logs /logs/agent");
        expect(stdout.toString()).toBe(process.getuid?.() === 0 ? "1\n755\n777\n" : "0\n755\n777\n");
        const script =
          "while :; do ln -sfn /etc /logs/agent/swap; rm -f /logs/agent/swap; mkdir -p /logs/agent/swap; rmdir /logs/agent/swap; done";
        await run(environment, `echo kept > /logs/agent/kept; (${script}) >/dev/null 2>&1 & echo`);
        const target = join(await makeRoom(), "logs");
        await environment.copyFrom({ source: "/logs", target, signal: never });
        expect(await readFile(join(target, "agent", "kept"), "utf8")).toBe("kept\n");
        await environment.copyTo([{ kind: "directory", target: "/logs/agent" }], never);
        expect((await run(environment, "ls /logs/agent/kept 2>&1")).exitCode).not.toBe(0);
      });
    }

    on("links that an agent leaves lead to no file of this machine", async () => {
      const { create, run } = await open();
      const environment = await create();
      const outside = await makeRoom();
      const inside = "/trap";
      await run(
        environment,
        `ln -s ${outside} ${inside}; ln -s ${outside} /tests; ln -s ${outside}/file /solution; sleep 60 &`,
      );
      const source = await makeRoom();
      await writeFile(join(source, "test.sh"), "echo\n");
      await environment.copyTo([{ kind: "tree", source, target: "/tests" }], never);
      await environment
        .copyTo([{ kind: "file", content: "x", target: `${inside}/x`, mode: 0o644 }], never)
        .catch(() => {});
      await environment.copyTo([{ kind: "remove", target: `${inside}/kept` }], never).catch(() => {});
      await environment.copyTo([{ kind: "remove", target: "/solution" }], never);
      const { stdout } = await run(environment, "stat -c %F /tests; ls /tests; ls /solution 2>&1 | wc -l");
      expect(stdout.toString()).toBe("directory\ntest.sh\n1\n");
      expect(await readdir(outside)).toEqual([]);
    });

    on("a container that ended by itself is lost, and the error says so", async () => {
      const { create, run } = await open();
      const environment = await create();
      const engine = await openTestEngine(env);
      await engine.client.text({ method: "POST", path: `/containers/${environment.id}/kill`, signal: never });
      engine.client[Symbol.dispose]();
      await expect(run(environment, "true")).rejects.toMatchObject({ code: "environment_lost", transient: true });
    });

    on("a container that its own processes ended is not lost, and the error says so", async () => {
      const { create, run } = await open();
      // Without an init before it, the keeper replaces a sleeper that was killed.
      const ends = ["kill -TERM 1; sleep 3", ...(name === "docker" ? ["kill -9 -1; sleep 3"] : [])];
      for (const end of ends) {
        const environment = await create();
        await run(environment, "true");
        await expect(run(environment, end)).rejects.toMatchObject({ code: "environment_ended", transient: false });
      }
    });

    for (const [who, uid] of name === "docker"
      ? ([
          ["root", 0],
          ["another user", 1],
        ] as const)
      : ([["root", 0]] as const)) {
      on(`a first process that ends at once is a failed start for ${who}, not a lost container`, async () => {
        const { build, create, run } = await openRoom(env, {}, uid);
        const fake = "printf '#!/bin/sh\\necho no sleep >&2; exit 3\\n' > /tmp/s && mv /tmp/s /usr/bin/sleep";
        const { image } = await build({ Dockerfile: `${base}RUN ${fake} && chmod +x /usr/bin/sleep\n` });
        const starting = create({ image }).then((environment) => run(environment, "true"));
        await expect(starting).rejects.toMatchObject({
          code: "task_unfit",
          transient: false,
          message: expect.stringContaining("exit code 3"),
        });
      });
    }

    on("a name that is taken already does not keep a container from starting", async () => {
      const { create, run } = await open();
      const first = await create({ name: `twice-${process.pid}-${name}` });
      const second = await create({ name: `twice-${process.pid}-${name}` });
      expect(second.id).not.toBe(first.id);
      expect((await run(second, "echo here")).stdout.toString()).toBe("here\n");
    });

    on("what a process left that is gone is told from what was kept", async () => {
      const { create, provider } = await open();
      const dead = { "rollout.owner-pid": "4194303", "rollout.owner-boot": "another boot" };
      // A machine of its own, so that no job beside us takes what is left here for its own to remove.
      const host = { ...readHost(process), hostname: `left-${process.pid}-${name}` };
      const labels = { ...dead, "rollout.owner-host": host.hostname, "rollout.test": host.hostname };
      const left = await create({ labels });
      const kept = await create({ labels });
      await kept.stop(never);
      expect(await provider.findEnvironments({ "rollout.test": host.hostname }, never)).toHaveLength(2);
      const abandoned = await findAbandoned(provider, host, never);
      const ids = abandoned.filter((found) => found.labels["rollout.test"] === host.hostname).map(({ id }) => id);
      expect(ids).toEqual([left.id]);
    });
  });

  describe(`ending commands on ${name}:`, () => {
    const abortOnceReady = async (
      room: Awaited<ReturnType<typeof open>>,
      environment: Awaited<ReturnType<(typeof room)["create"]>>,
      script: string,
      user?: string,
    ): Promise<void> => {
      const controller = new AbortController();
      const reasonOfAbort = new RolloutError("exec_failed", "enough");
      const stdout = { write: () => controller.abort(reasonOfAbort) };
      const running = room.run(environment, script, { stdout, signal: controller.signal, user });
      await expect(running).rejects.toBe(reasonOfAbort);
    };

    on("what runs as another user is ended too", async () => {
      const room = await open();
      const environment = await room.create();
      const script = "cd /; setsid sleep 71717 </dev/null >/dev/null 2>&1 & sleep 71718 & echo ready; wait";
      await abortOnceReady(room, environment, script, "nobody");
      expect(await environment.listProcesses(never)).toEqual([]);
    });

    on("no tool of the image is needed to end the commands of its user", async () => {
      const room = await open();
      const tools = "{ps,pgrep,pkill,kill,killall,setsid,nohup,pidof,top}";
      const strip = `RUN bash -c 'rm -f /bin/${tools} /usr/bin/${tools} /sbin/${tools}'`;
      const { image } = await room.build({ Dockerfile: `${base}RUN useradd -m worker\n${strip}\nUSER worker\n` });
      const environment = await room.create({ image });
      const stubborn = "( (trap '' TERM; while :; do sleep 1; done) </dev/null >/dev/null 2>&1 & )";
      const unmarked = "( env -i bash -c 'sleep 71719; :' </dev/null >/dev/null 2>&1 & )";
      await abortOnceReady(room, environment, `${stubborn}; ${unmarked}; sleep 0.2; echo ready; sleep 71717`);
      expect(await environment.listProcesses(never)).toEqual([]);
      expect((await room.run(environment, "echo goes on")).stdout.toString()).toBe("goes on\n");
    });

    on("a daemon that took off the mark is ended too", async () => {
      const room = await open();
      const environment = await room.create();
      const script = "env -i setsid sleep 71717 </dev/null >/dev/null 2>&1 & sleep 0.2; echo ready; sleep 71718";
      await abortOnceReady(room, environment, script);
      expect(await environment.listProcesses(never)).toEqual([]);
    });

    on("without a working bash the container is ended, and its files can still be read", async () => {
      const room = await open();
      const environment = await room.create();
      const script =
        "echo kept > /kept; exec 5>&1; printf '#!/bin/sh\\nexit 0\\n' > /tmp/fake; chmod +x /tmp/fake; mv /tmp/fake /usr/bin/bash; echo ready >&5; exec sleep 71717";
      await abortOnceReady(room, environment, script);
      await environment.killProcesses(never);
      expect(await environment.listProcesses(never)).toEqual([]);
      const target = join(await makeRoom(), "kept");
      await environment.copyFrom({ source: "/kept", target, signal: never });
      expect(await readFile(target, "utf8")).toBe("kept\n");
    });
  });
}

describe("the way to an engine:", async () => {
  const [docker] = await findEngines();
  const on = (title: string, work: () => Promise<void>): void => {
    test(title, async (context) => {
      if (docker?.reason) cannotRun(context, docker.reason);
      await work();
    });
  };

  test("no engine is told with its address and the other way", async () => {
    const provider = await openDocker({ DOCKER_HOST: "unix:///nowhere/docker.sock" });
    await expect(provider.probe(never)).rejects.toMatchObject({
      code: "provider_unavailable",
      message: expect.stringContaining("unix:///nowhere/docker.sock"),
      hint: expect.stringContaining("environment.type: local"),
    });
  });

  test("what answers but is no engine is told so", async () => {
    const provider = await openDocker({ DOCKER_HOST: "tcp://127.0.0.1:9" });
    await expect(provider.probe(never)).rejects.toMatchObject({ code: "provider_unavailable" });
  });

  on("commands run over TCP", async () => {
    const proxy = await openCuttableProxy();
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const room = await openRoom({ DOCKER_HOST: proxy.address });
    const environment = await room.create();
    expect((await room.run(environment, "echo over tcp")).stdout.toString()).toBe("over tcp\n");
  });

  on("a container whose making was answered to nobody is gone when the provider is closed", async () => {
    const proxy = await openCuttableProxy();
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const provider = await openDocker({ DOCKER_HOST: proxy.address });
    const name = `test-${randomUUID()}`;
    const limits = { cpus: 1, memoryBytes: 2 ** 29, storageBytes: 2 ** 30 };
    const request = { image: "debian:bookworm-slim", name, limits, place: [], labels: { "rollout-test": name } };
    await (await provider.createEnvironment({ ...request, signal: never })).destroy(never);
    proxy.loseAnswerTo(`/containers/create?name=${name}`);
    await expect(provider.createEnvironment({ ...request, signal: never })).rejects.toMatchObject({
      code: "environment_start_failed",
    });
    const engine = await openTestEngine(process.env as Record<string, string>);
    onTestFinished(() => engine.client[Symbol.dispose]());
    const query = { all: true, filters: JSON.stringify({ label: [`rollout-test=${name}`] }) };
    const list = { method: "GET", path: "/containers/json", query, signal: never } as const;
    expect(await engine.client.json(list)).toHaveLength(1);
    await provider[Symbol.asyncDispose]();
    expect(await engine.client.json(list)).toEqual([]);
  });

  on("the engine's word for what the memory limit killed is heard over TCP too, once", async () => {
    const proxy = await openCuttableProxy();
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const room = await openRoom({ DOCKER_HOST: proxy.address });
    const environment = await room.create({ limits: { cpus: 1, memoryBytes: 128 * 2 ** 20, storageBytes: 2 ** 30 } });
    const hungry = "dd if=/dev/zero of=/dev/null bs=512M count=1; sleep 1";
    expect(await room.run(environment, `${hungry}; true`)).toMatchObject({ exitCode: 0, outOfMemory: true });
    expect(await room.run(environment, "exit 1")).toMatchObject({ exitCode: 1, outOfMemory: false });
    expect(await room.run(environment, `${hungry}; exit 3`)).toMatchObject({ exitCode: 3, outOfMemory: true });
  });

  on("commands run over the system's ssh", async () => {
    const directory = await makeRoom();
    // Stands for the other machine: it runs there what it is told to run.
    const there = process.env["DOCKER_HOST"] ? `export DOCKER_HOST=${process.env["DOCKER_HOST"]}` : "unset DOCKER_HOST";
    const script = `#!/bin/sh\n${there}\nwhile [ "$1" != -- ]; do shift; done; shift 2\nexec "$@"\n`;
    await writeFile(join(directory, "ssh"), script);
    await chmod(join(directory, "ssh"), 0o755);
    const PATH = `${directory}:${process.env["PATH"]}`;
    const room = await openRoom({ DOCKER_HOST: "ssh://me@far.example", PATH });
    const environment = await room.create();
    expect((await room.run(environment, "echo over ssh")).stdout.toString()).toBe("over ssh\n");
    const copy = join(directory, "hostname");
    await environment.copyFrom({ source: "/etc/debian_version", target: copy, signal: never });
    expect(await readFile(copy, "utf8")).not.toBe("");
  });

  test("what ssh complains about is told", async () => {
    const directory = await makeRoom();
    await writeFile(join(directory, "ssh"), "#!/bin/sh\necho 'no route to host' >&2; exit 255\n");
    await chmod(join(directory, "ssh"), 0o755);
    const provider = await openDocker({ DOCKER_HOST: "ssh://far", PATH: `${directory}:${process.env["PATH"]}` });
    await expect(provider.probe(never)).rejects.toThrow("no route to host");
  });

  on("commands run over TLS, and a certificate of a stranger is refused", async () => {
    const directory = await makeRoom();
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    const files = ["-keyout", join(directory, "key.pem"), "-out", join(directory, "cert.pem")];
    await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject, ...files]);
    const [key, cert] = await Promise.all(["key.pem", "cert.pem"].map((file) => readFile(join(directory, file))));
    await writeFile(join(directory, "ca.pem"), cert!);
    const proxy = await openCuttableProxy({ key: key!, cert: cert! });
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const DOCKER_HOST = proxy.address.replace("127.0.0.1", "localhost");
    const room = await openRoom({ DOCKER_HOST, DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: directory });
    const environment = await room.create();
    expect((await room.run(environment, "echo over tls")).stdout.toString()).toBe("over tls\n");
    const stranger = await openDocker({ DOCKER_HOST, DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: await makeRoom() });
    await expect(stranger.probe(never)).rejects.toMatchObject({ code: "provider_unavailable" });
  });

  on("an engine that is lost in the middle of a command loses the environment, for a while", async () => {
    const proxy = await openCuttableProxy();
    const room = await openRoom({ DOCKER_HOST: proxy.address });
    const environment = await room.create();
    const started = Promise.withResolvers<void>();
    const running = room.run(environment, "echo ready; sleep 600", { stdout: { write: () => started.resolve() } });
    running.catch(() => {});
    await started.promise;
    await proxy[Symbol.asyncDispose]();
    await expect(running).rejects.toMatchObject({ code: "environment_lost", transient: true });
    await expect(environment.copyTo([{ kind: "directory", target: "/x" }], never)).rejects.toMatchObject({
      code: "environment_lost",
      transient: true,
    });
    await expect(environment.destroy(never)).rejects.toMatchObject({ code: "teardown_failed" });
    const direct = await openDocker();
    await direct.removeEnvironment(environment.id, never);
    await expect(room.create()).rejects.toMatchObject({ transient: true });
    await proxy.reopen();
  });
});
