import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import type { CreateEnvironmentRequest, Environment, EnvironmentProvider } from "../../src/environments/environment.ts";
import { openLocal } from "../providers/local/open-local.ts";
import { whyNoLocal } from "../providers/local/why-no-local.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";

const cacheDir = mkdtempSync(join(tmpdir(), "rollout-hostile-"));
const environmentsDir = join(cacheDir, "local", "environments");
const never = new AbortController().signal;
const limits = { cpus: 1, memoryBytes: 2 ** 28, storageBytes: 2 ** 30 };
const isRoot = process.getuid?.() === 0;
const reason = await whyNoLocal(cacheDir);
let provider: EnvironmentProvider;
const open: Environment[] = [];

beforeAll(async () => void (provider = await openLocal(cacheDir)));
beforeEach((context) => void (reason !== null && cannotRun(context, reason)));
afterAll(async () => {
  for (const environment of open) await environment.destroy(never);
  await provider[Symbol.asyncDispose]();
  expect(existsSync(environmentsDir) ? readdirSync(environmentsDir) : []).toEqual([]);
  rmSync(cacheDir, { recursive: true, force: true });
});

async function start(overrides: Partial<CreateEnvironmentRequest> = {}, using = provider): Promise<Environment> {
  const request = { image: "base", name: "hostile", limits, place: [], labels: {}, signal: never, ...overrides };
  const environment = await using.createEnvironment(request);
  open.push(environment);
  return environment;
}

async function run(environment: Environment, script: string, signal = never) {
  let output = "";
  const sink = { write: (chunk: Uint8Array) => void (output += Buffer.from(chunk).toString("utf8")) };
  const command = ["bash", "-c", script];
  const result = await environment.exec({ command, env: {}, stdout: sink, stderr: sink, signal });
  return { ...result, output };
}

function countProcesses(words: string): number {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").includes(words);
    } catch {
      return false;
    }
  }).length;
}

function findStarters(): number[] {
  return readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ").map(Number);
}

async function until(holds: () => boolean, limitMs = 10_000): Promise<void> {
  for (const endMs = performance.now() + limitMs; !holds();) {
    if (performance.now() > endMs) throw new Error("it does not come true");
    await systemClock.sleep(20, never);
  }
}

function fingerprint(path: string): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(path).sort()) {
    const stats = lstatSync(join(path, name));
    hash.update(`${name}\0${stats.mode}\0${stats.uid}\0${stats.mtimeMs}\0${stats.size}\0`);
  }
  return hash.digest("hex");
}

describe("an environment sees nothing of the host but its programs", () => {
  const secret = join(cacheDir, "host-secret");
  beforeAll(() => writeFileSync(secret, "host secret"));

  test("homes, keys, shadow and other directories of the host are not there", async () => {
    const { output } = await run(
      await start(),
      `ls -A /root /home /srv /mnt /media /tests /oracle /boot /lost+found 2>/dev/null | grep -v ':$' | grep .
       cat /etc/shadow | grep -v '^root:\\*:'; ls /etc/ssl/private /etc/sudoers /etc/ssh/ssh_host_* /etc/gshadow 2>/dev/null
       cat ${secret}; true`,
    );
    expect(output).toBe(`cat: ${secret}: No such file or directory\n`);
  });

  test("processes and variables of the host are not there", async () => {
    const environment = await start();
    const { output } = await run(environment, "ls /proc | grep -c '^[0-9]'; cat /proc/1/environ 2>/dev/null; exec env");
    const [count = "", ...variables] = output.trim().split("\n");
    expect(Number(count)).toBeLessThan(8);
    const ofShell = ["PWD", "SHLVL", "_"];
    const names = variables.map((line) => line.split("=")[0] ?? "").filter((name) => !ofShell.includes(name));
    expect(names.sort()).toEqual(["HOME", "PATH"]);
    expect(variables).toContain("PWD=/app");
  });

  test("sockets of engines, the host's runtime directory, disks and kernel memory are out of reach", async () => {
    const { output } = await run(
      await start(),
      `ls -A /run; ls /var/run/docker.sock /sys/fs 2>/dev/null; ls /dev | grep -E '^(sd|vd|nvme|mem|kmsg|fuse|loop)'
       for file in /proc/sysrq-trigger /proc/sys/kernel/panic /proc/sys/vm/drop_caches /proc/sys/kernel/core_pattern; do echo x 2>/dev/null >$file && echo wrote $file; done
       head -c1 /proc/kcore 2>/dev/null; true`,
    );
    expect(output.replace(/bash: line \d+: .*denied\n/g, "")).toBe("");
  });

  test("a command has its own three descriptors and no others", async () => {
    // The last one is the directory that is being listed.
    expect(await run(await start(), "ls /proc/self/fd")).toMatchObject({ output: "0\n1\n2\n3\n" });
  });

  test("another environment's files and processes are not there", async () => {
    const [one, other] = [await start(), await start()];
    await run(one, "echo mine > /tmp/mine; echo mine > /app/mine; (setsid sleep 54321 >/dev/null 2>&1 &)");
    const { output } = await run(
      other,
      "find / -name mine -not -path '/proc/*' 2>/dev/null; cat /proc/*/cmdline | tr '\\0' ' '",
    );
    expect(output).not.toMatch(/^\/\S*\/mine$/m);
    expect(output).not.toContain("54321");
  });
});

describe("an environment changes nothing of the host", () => {
  test("what it writes, replaces and removes stays inside", async () => {
    const paths = ["/etc", "/usr/bin", "/usr", "/opt"];
    const before = paths.map(fingerprint);
    const namesBefore = readdirSync("/");
    const { exitCode } = await run(
      await start(),
      "touch /usr/bin/new /etc/new /opt/new /new && rm /usr/bin/yes && echo x >> /etc/passwd && rm -rf /usr/share/doc && hostname hacked; true",
    );
    expect(exitCode).toBe(0);
    expect(paths.map(fingerprint)).toEqual(before);
    expect(readdirSync("/")).toEqual(namesBefore);
    expect(existsSync("/usr/bin/yes")).toBe(true);
  });

  test("tools that it replaced gain nothing when the next command comes", async () => {
    const environment = await start();
    const evil = "#!/bin/sh\\ngrep CapEff /proc/self/status >>/app/caps\\nexec sleep 0\\n";
    await run(
      environment,
      `printf '${evil}' >/tmp/evil; chmod +x /tmp/evil
       for tool in setpriv env tar rm mkdir cat umount; do cp /tmp/evil /usr/bin/$tool; done; echo broken > /lib/x86_64-linux-gnu/libcap-ng.so.0; ls -A /app`,
    );
    const result = await run(environment, "echo still works; test -e /app/caps && echo ran");
    expect(result.output).toBe("still works\n");
    await environment.copyTo([{ kind: "file", content: "x", target: "/app/sub/file", mode: 0o644 }], never);
    const report = await environment.copyFrom({ source: "/app", target: join(cacheDir, "replaced"), signal: never });
    expect(report.files).toBe(1);
  });

  test("start-up files that it wrote are not read when something is copied in", async () => {
    const environment = await start();
    await run(environment, "echo 'echo tampered >/tmp/proof; shift() { exit 0; }' | tee /root/.bashrc /root/.profile");
    await environment.copyTo([{ kind: "file", content: "whole", target: "/srv/file", mode: 0o644 }], never);
    expect((await run(environment, "cat /srv/file; ls /tmp")).output).toBe("whole");
  });

  test("it has no power that a container lacks: namespaces, mounts, devices, setuid, tracing the first process", async () => {
    const { output } = await run(
      await start(),
      `unshare -U true 2>/dev/null && echo nested
       mount -t tmpfs x /mnt 2>/dev/null && echo mounted
       umount /.rollout 2>/dev/null && echo unmounted
       mknod /app/disk b 8 0 2>/dev/null && head -c1 /app/disk >/dev/null 2>&1 && echo device
       grep -q 'NoNewPrivs:.1' /proc/self/status || echo privileges
       cp /bin/bash /app/suid && chmod u+s /app/suid && setpriv --reuid 65534 --clear-groups /app/suid -p -c 'id -u' 2>/dev/null
       head -c1 /proc/1/mem >/dev/null 2>&1 && echo traced
       (exec 9>/proc/1/fd/0) 2>/dev/null && echo lifeline
       echo 5 2>/dev/null >/proc/sys/user/max_user_namespaces && echo raised
       date -s 2020-01-01 >/dev/null 2>&1 && echo clock; dmesg >/dev/null 2>&1 && echo dmesg; true`,
    );
    expect(output.replace(/bash: line \d+: .*denied\n/g, "").replace(/^65534\n/m, "")).toBe("");
  });

  test("root inside is nobody of the host", async () => {
    const environment = await start();
    void run(environment, "exec sleep 51234").catch(() => {});
    const uids = (): number[] =>
      readdirSync("/proc").flatMap((name) => {
        try {
          const isIt = /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8") === "sleep\x0051234\0";
          return isIt ? [Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1])] : [];
        } catch {
          return [];
        }
      });
    await until(() => uids().length === 1);
    expect(uids()[0]).toSatisfy((uid: number) => (isRoot ? uid >= 0x70000000 : uid === process.getuid?.()));
  });
});

describe("links do not lead out", () => {
  test("links in volumes are neither read nor written through on the host", async () => {
    const victim = mkdtempSync(join(cacheDir, "victim-"));
    writeFileSync(join(victim, "file"), "host");
    const environment = await start();
    await run(
      environment,
      `ln -s ${victim} /logs/out; ln -s ${victim}/file /logs/file; ln -s / /logs/root; mkdir /logs/verifier; ln -s ${victim}/new /logs/verifier/reward.txt
       rm -rf /tests; ln -s ${victim} /tests/sub 2>/dev/null; true`,
    );
    const target = join(cacheDir, "links");
    const report = await environment.copyFrom({ source: "/logs", target, signal: never });
    expect(report.refused.map((entry) => entry.path).sort()).toEqual(["file", "out", "root", "verifier/reward.txt"]);
    for (const source of ["/logs/out/file", "/logs/root/etc/hostname"]) {
      const copied = join(cacheDir, `through-${source.length}`);
      await environment.copyFrom({ source, target: copied, signal: never }).catch(() => {});
      expect(existsSync(copied) ? readFileSync(copied, "utf8") : "").not.toBe("host");
    }
    for (const path of ["/logs/out/planted", "/logs/file", "/logs/verifier/reward.txt", "/tests/sub/planted"]) {
      await environment
        .copyTo([{ kind: "file", content: "planted", target: path, mode: 0o644 }], never)
        .catch(() => {});
    }
    expect(readdirSync(victim)).toEqual(["file"]);
    expect(readFileSync(join(victim, "file"), "utf8")).toBe("host");
  });

  test("links on the way to what is linked or removed do not lead to the host", async () => {
    const hostDir = mkdtempSync(join(tmpdir(), "rollout-outside-"));
    writeFileSync(join(hostDir, "victim"), "host");
    const environment = await start();
    await run(
      environment,
      `ln -s ${hostDir} /way; ln -s ${hostDir}/victim /end; mkdir -p /deep/way; ln -s / /deep/root`,
    );
    await environment.copyTo(
      [
        { kind: "remove", target: "/way/victim" },
        { kind: "remove", target: `/deep/root${hostDir}/victim` },
        { kind: "remove", target: "/end" },
        // The second passes through what the first has just made.
        { kind: "link", target: "/new", to: hostDir },
        { kind: "remove", target: "/new/victim" },
      ],
      never,
    );
    await expect(environment.copyTo([{ kind: "link", target: "/way/made", to: "x" }], never)).rejects.toThrow("/way");
    expect(readdirSync(hostDir)).toEqual(["victim"]);
    const { output } = await run(environment, "readlink /new; ls -ld /end 2>/dev/null; stat -c %u /new");
    expect(output).toBe(`${hostDir}\n0\n`);
    rmSync(hostDir, { recursive: true });
  });

  test("a link at the root is made and removed while nothing runs and while something does", async () => {
    const environment = await start();
    const look = async (): Promise<string> => (await run(environment, "readlink /solution; true")).output;
    for (const command of ["true", "(setsid sleep 600 >/dev/null 2>&1 &)"]) {
      await run(environment, command);
      await environment.copyTo([{ kind: "link", target: "/solution", to: "/oracle" }], never);
      expect(await look()).toBe("/oracle\n");
      await environment.copyTo([{ kind: "remove", target: "/solution" }], never);
      expect(await look()).toBe("");
    }
  });

  test("a directory that becomes a link again and again leads nowhere", async () => {
    const victim = mkdtempSync(join(cacheDir, "victim-"));
    writeFileSync(join(victim, "file"), "host");
    const environment = await start();
    await run(
      environment,
      `mkdir -p /logs/a; echo mine >/logs/a/file
       (setsid bash -c 'while :; do mv /logs/a /logs/b; ln -s ${victim} /logs/a; rm /logs/a; mv /logs/b /logs/a; done' >/dev/null 2>&1 &)`,
    );
    for (let round = 0; round < 10; round++) {
      const target = join(cacheDir, `race-${round}`);
      await environment.copyFrom({ source: "/logs/a", target, signal: never }).catch(() => {});
      const file = join(target, "file");
      if (existsSync(file)) expect(readFileSync(file, "utf8")).toBe("mine\n");
      const planted = { kind: "file", content: "x", target: "/logs/a/planted", mode: 0o644 } as const;
      await environment.copyTo([planted], never).catch(() => {});
    }
    expect(readdirSync(victim)).toEqual(["file"]);
    await environment.destroy(never);
  });
});

describe("bombs stay inside", () => {
  test("a fork bomb ends with its command", async () => {
    const environment = await start();
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 500);
    const bomb = "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 100";
    await expect(run(environment, bomb, controller.signal)).rejects.toThrow("enough");
    expect(await environment.listProcesses(never)).toEqual([]);
    expect((await run(environment, "echo alive")).output).toBe("alive\n");
    await environment.destroy(never);
  }, 60_000);

  test("a memory bomb is killed and told", async (context) => {
    if (provider.capabilities.limits.memory !== "enforced") cannotRun(context, "needs limits.memory");
    const environment = await start();
    const { exitCode, outOfMemory } = await run(environment, "head -c 2G /dev/zero | tail");
    expect(exitCode).not.toBe(0);
    expect(outOfMemory).toBe(true);
    expect((await run(environment, "echo alive")).output).toBe("alive\n");
  });

  test("a disk bomb meets the limit", async () => {
    await using other = await openLocal(cacheDir, { storage: "memory" });
    const environment = await start({ limits: { ...limits, storageBytes: 32 * 2 ** 20 } }, other);
    const script =
      "for i in 1 2 3 4; do head -c 20M /dev/zero > /app/$i; done; for d in /tmp /run /logs /usr; do head -c 40M /dev/zero > $d/x; done";
    const { output } = await run(environment, script);
    expect(output.match(/No space left/g)?.length).toBeGreaterThanOrEqual(6);
    await environment.destroy(never);
    const onDisk = await start({ limits: { ...limits, storageBytes: 32 * 2 ** 20 } });
    const large = await run(onDisk, "head -c 64M /dev/zero > /app/large; stat -c %s /app/large");
    expect(Number(large.output.split("\n").at(-2))).toBeLessThanOrEqual(32 * 2 ** 20);
  });
});

describe("nothing outlives its owner", () => {
  test("a killed process leaves no process, and the next one removes its files, groups and environments", async () => {
    const seconds = "87654.321";
    const program = join(import.meta.dirname, "local", "start-and-wait.ts");
    const child = spawn(process.execPath, [program, cacheDir, seconds], { stdio: ["ignore", "pipe", "ignore"] });
    await once(child.stdout, "data");
    await until(() => countProcesses(`sleep ${seconds}`) >= 3);
    const [found] = await provider.findEnvironments({ who: "abandoned" }, never);
    expect(found).toBeDefined();
    child.kill("SIGKILL");
    await until(() => countProcesses(seconds) === 0, 3000);
    await until(() => countProcesses(found?.id ?? "") === 0, 3000);
    await using next = await openLocal(cacheDir);
    await next.probe(never);
    expect(await next.findEnvironments({ who: "abandoned" }, never)).toEqual([]);
    expect(readdirSync(environmentsDir).filter((name) => name.includes("abandoned"))).toEqual([]);
    const pipes = readdirSync(join(cacheDir, "local", "pipes"));
    expect(pipes.filter((name) => name.startsWith(`pipes.${child.pid}-`))).toEqual([]);
    // Those of the living are left alone.
    expect(pipes.filter((name) => name.startsWith(`pipes.${process.pid}-`))).not.toEqual([]);
    const groups = execFileSync("find", ["/sys/fs/cgroup", "-name", "*abandoned*"], { encoding: "utf8" });
    expect(groups).toBe("");
  });

  test("when the process that starts programs is killed, its environments are lost and the next one starts", async () => {
    await using own = await openLocal(cacheDir);
    const before = findStarters();
    const environment = await start({}, own);
    const [starter = 0] = findStarters().filter((pid) => !before.includes(pid));
    const seconds = "86398.5";
    const running = run(environment, `trap '' TERM; setsid sleep ${seconds} & sleep ${seconds}`);
    await until(() => countProcesses(`sleep ${seconds}`) >= 2);
    process.kill(starter, "SIGKILL");
    await expect(running).rejects.toMatchObject({ code: "environment_lost" });
    await until(() => countProcesses(`sleep ${seconds}`) === 0);
    await environment.destroy(never);
    const next = await start({}, own);
    expect(await run(next, "echo here")).toMatchObject({ exitCode: 0, output: "here\n" });
    await next.destroy(never);
  });

  test("what another process is using is left alone, and can be removed by its id", async () => {
    const program = join(import.meta.dirname, "local", "start-and-wait.ts");
    const child = spawn(process.execPath, [program, cacheDir, "76543.21"], { stdio: ["ignore", "pipe", "ignore"] });
    // It may end by itself once its environment is gone.
    const gone = once(child, "exit");
    await once(child.stdout, "data");
    await using next = await openLocal(cacheDir);
    await next.probe(never);
    const [found] = await next.findEnvironments({ who: "abandoned" }, never);
    expect(found).toBeDefined();
    await next.removeEnvironment(found?.id ?? "", never);
    await until(() => countProcesses("sleep 76543.21") === 0, 3000);
    expect(await next.findEnvironments({ who: "abandoned" }, never)).toEqual([]);
    child.kill("SIGKILL");
    await gone;
  });

  test("daemons that ignore polite signals end with their environment", async () => {
    const environment = await start();
    await run(
      environment,
      `setsid bash -c "trap '' TERM HUP; while :; do sleep 65432.1; done" >/dev/null 2>&1 & sleep 0.2`,
    );
    expect(countProcesses("sleep 65432.1")).toBeGreaterThan(0);
    await environment.destroy(never);
    expect(countProcesses("sleep 65432.1")).toBe(0);
  });

  test("a kept environment has its files and can be entered again", async () => {
    const environment = await start({ labels: { kept: "yes" } });
    await run(environment, "echo kept > /app/file; echo kept > /usr/file; echo kept > /tmp/file; ln -s / /logs/root");
    await environment.stop(never);
    await using next = await openLocal(cacheDir);
    await next.probe(never);
    expect(await next.findEnvironments({ kept: "yes" }, never)).toHaveLength(1);
    for (let round = 0; round < 2; round++) {
      await using way = await next.enter({ id: environment.id, isTerminal: false, signal: never });
      const [file = "", ...args] = way.command;
      const input = "cat file /usr/file /tmp/file; pwd\n";
      const output = execFileSync(file, args, { env: way.env, input, encoding: "utf8" });
      expect(output).toBe("kept\nkept\nkept\n/app\n");
    }
    await environment.destroy(never);
    expect(await next.findEnvironments({ kept: "yes" }, never)).toEqual([]);
  });
});

test("with its network taken an environment reaches no server of the host", async () => {
  const server = createServer((socket) => socket.end("host"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const environment = await start();
  const ask = `(cat </dev/tcp/127.0.0.1/${port}) 2>&1`;
  expect((await run(environment, ask)).output).toBe("host");
  await environment.setNetwork("none", never);
  expect((await run(environment, ask)).output).toContain("refused");
  await environment.setNetwork("full", never);
  expect((await run(environment, ask)).output).toBe("host");
  server.close();
});

test("a host tree with links is placed as it is and nothing of it is followed", async () => {
  const source = mkdtempSync(join(cacheDir, "source-"));
  mkdirSync(join(source, "sub"));
  symlinkSync("/etc/passwd", join(source, "sub", "link"));
  const environment = await start({ place: [{ kind: "tree", source, target: "/tests" }] });
  expect((await run(environment, "readlink /tests/sub/link")).output).toBe("/etc/passwd\n");
});
