import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, type TestContext } from "vitest";
import { collect, runScript } from "../../src/environments/conformance/run-command.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { commandMark } from "../../src/environments/guest/end-processes.ts";
import { keeperSeconds } from "../../src/environments/guest/keeper.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findCluster } from "../kubernetes-rig/find-cluster.ts";
import { makeDirectory, openRoom } from "./kubernetes/cluster-room.ts";
import { openCuttableWay, type CuttableWay } from "./kubernetes/cuttable-way.ts";
import { failureOf } from "./kubernetes/failure-of.ts";

const never = new AbortController().signal;
const cluster = await findCluster();

function needsCluster(context: TestContext): void {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
}

async function openWay(): Promise<CuttableWay> {
  const way = await openCuttableWay(cluster.env["KUBECONFIG"] ?? "", join(await makeDirectory(), "kubeconfig"));
  onTestFinished(() => way[Symbol.asyncDispose]());
  return way;
}

describe("connections that are lost", () => {
  test("a command goes on while its connection is cut again and again, and no byte is lost or doubled", async (context) => {
    needsCluster(context);
    const way = await openWay();
    const { create } = await openRoom({ KUBECONFIG: way.kubeconfig });
    const environment = await create();
    const script = 'for ((i = 0; i < 60; i++)); do echo "line $i"; echo "error $i" >&2; sleep 0.1; done; exit 5';
    const running = runScript(environment, script, { signal: never });
    for (let cuts = 0; cuts < 4; cuts++) {
      await sleep(1300);
      way.cut();
    }
    const { exitCode, stdout, stderr } = await running;
    const lines = (word: string): string => Array.from({ length: 60 }, (_, index) => `${word} ${index}\n`).join("");
    expect(stdout.toString()).toBe(lines("line"));
    expect(stderr.toString()).toBe(lines("error"));
    expect(exitCode).toBe(5);
  });

  test("much output arrives whole although its connection is cut in the middle", async (context) => {
    needsCluster(context);
    const way = await openWay();
    const { create } = await openRoom({ KUBECONFIG: way.kubeconfig });
    const environment = await create();
    const stdout = collect();
    let next = 1e6;
    const sink = {
      write(chunk: Uint8Array) {
        void stdout.write(chunk);
        if (stdout.bytes().length < next) return;
        next += 2e6;
        way.cut();
      },
    };
    const script = "for ((i = 0; i < 700000; i++)); do echo $i; done";
    await runScript(environment, script, { signal: never, stdout: sink });
    expect(stdout.text()).toBe(Array.from({ length: 700_000 }, (_, index) => `${index}\n`).join(""));
  });

  test("a cluster that cannot be reached for a while does not end a command", async (context) => {
    needsCluster(context);
    const way = await openWay();
    const { create } = await openRoom({ KUBECONFIG: way.kubeconfig });
    const environment = await create();
    const running = runScript(environment, "echo before; sleep 4; echo after", { signal: never });
    await sleep(1500);
    way.close();
    await sleep(5000);
    way.open();
    expect((await running).stdout.toString()).toBe("before\nafter\n");
  });

  test("one that cannot be reached any more is lost after its limit", async (context) => {
    needsCluster(context);
    const way = await openWay();
    const { create } = await openRoom({ KUBECONFIG: way.kubeconfig }, { reconnect_limit_sec: 2 });
    const environment = await create();
    const running = failureOf(runScript(environment, "sleep 600", { signal: never }));
    await sleep(1000);
    way.close();
    onTestFinished(() => way.open());
    expect(await running).toMatchObject({ code: "environment_lost", transient: true });
    way.open();
    await environment.destroy(never);
  });

  test("copies are made again when their connection is cut", async (context) => {
    needsCluster(context);
    const way = await openWay();
    const { create } = await openRoom({ KUBECONFIG: way.kubeconfig });
    const environment = await create();
    await runScript(environment, "mkdir /big && head -c 30000000 /dev/urandom > /big/file", { signal: never });
    const timer = setInterval(() => way.cut(), 700);
    const stop = sleep(1600).then(() => clearInterval(timer));
    const target = join(await makeDirectory(), "copy");
    const report = await environment.copyFrom({ source: "/big", target, signal: never });
    await environment.copyTo([{ kind: "tree", source: target, target: "/again" }], never);
    await stop;
    expect(report.bytes).toBe(30_000_000);
    expect((await runScript(environment, "cmp /big/file /again/file", { signal: never })).exitCode).toBe(0);
  });
});

describe("what a command leaves running", () => {
  test("a Pod in which it left nothing is not asked again", async (context) => {
    needsCluster(context);
    const way = await openWay();
    const { create } = await openRoom({ KUBECONFIG: way.kubeconfig }, { reconnect_limit_sec: 1 });
    const environment = await create();
    await runScript(environment, "echo one; sleep 0.2 & wait; echo two >&2", { signal: never });
    way.close();
    onTestFinished(() => way.open());
    expect(await environment.listProcesses(never)).toEqual([]);
    await environment.killProcesses(never);
    way.open();
    expect((await runScript(environment, "echo three", { signal: never })).stdout.toString()).toBe("three\n");
  });

  test("what dresses up as our own is ended all the same", async (context) => {
    needsCluster(context);
    const { create } = await openRoom(cluster.env);
    const environment = await create();
    const quiet = "</dev/null >/dev/null 2>&1 &";
    const count = async (words: string): Promise<number> => {
      const script = 'for file in /proc/[0-9]*/cmdline; do tr "\\0" " " < "$file"; echo; done 2>/dev/null';
      const { stdout } = await runScript(environment, script, { signal: never });
      return stdout
        .toString()
        .split("\n")
        .filter((line) => line.trim() === words).length;
    };
    const keeper = `sleep ${keeperSeconds}`;
    await runScript(environment, `setsid ${keeper} ${quiet}`, { signal: never });
    expect(await count(keeper)).toBe(2);
    await environment.killProcesses(never);
    expect(await count(keeper)).toBe(1);
    await runScript(environment, `${commandMark}=tool setsid sleep 61234 ${quiet}`, { signal: never });
    expect(await count("sleep 61234")).toBe(1);
    await environment.listProcesses(never);
    await environment.killProcesses(never);
    expect(await count("sleep 61234")).toBe(0);
  });
});

describe("settings", () => {
  test("a user who is not root gets its logs, tests and solution, and runs commands", async (context) => {
    needsCluster(context);
    const security = { run_as_user: 12_345, run_as_non_root: true, cap_drop: ["ALL"], seccomp: "RuntimeDefault" };
    const { create } = await openRoom(cluster.env, {
      security_context: { ...security, allow_privilege_escalation: false },
    });
    const environment = await create({ place: [{ kind: "directory", target: "/logs" }] });
    await environment.copyTo([{ kind: "file", content: "x", target: "/tests/deep/test.sh", mode: 0o755 }], never);
    const { stdout } = await runScript(environment, "id -u; cat /tests/deep/test.sh; touch /logs/here && ls /logs", {
      signal: never,
    });
    expect(stdout.toString()).toBe("12345\nxhere\n");
  });

  test("a read-only image leaves room for what trials write", async (context) => {
    needsCluster(context);
    const { create } = await openRoom(cluster.env, { security_context: { read_only_root: true } });
    const environment = await create();
    const script =
      "touch /here 2>/dev/null && echo writable; for d in /tmp /logs /tests /oracle; do touch $d/x && echo $d; done";
    const { stdout } = await runScript(environment, script, { signal: never });
    expect(stdout.toString()).toBe("/tmp\n/logs\n/tests\n/oracle\n");
  });

  test("volumes, variables, labels, aliases and a patch reach the Pod", async (context) => {
    needsCluster(context);
    const { create } = await openRoom(cluster.env, {
      volumes: [{ mount_path: "/scratch", source: { emptyDir: { medium: "Memory" } } }],
      env: { FROM_CONFIG: "yes" },
      labels: { team: "evals" },
      host_aliases: [{ ip: "192.0.2.1", hostnames: ["somewhere.example"] }],
      pod_patch: { spec: { hostname: "patched" } },
    });
    const environment: Environment = await create();
    const script =
      'echo "$FROM_CONFIG"; hostname; grep -c somewhere.example /etc/hosts; grep -c " /scratch tmpfs" /proc/mounts';
    const { stdout } = await runScript(environment, script, { signal: never });
    expect(stdout.toString()).toBe("yes\npatched\n1\n1\n");
  });

  test("what the cluster does not have is told before the first trial", async (context) => {
    needsCluster(context);
    const { provider } = await openRoom(cluster.env, {
      priority_class: "nobody",
      runtime_class: "nothing",
      service_account: "none",
    });
    const error = await failureOf(provider.probe(never));
    expect(error.code).toBe("config_invalid");
    expect(error.problems.map(({ path }) => path)).toEqual(["service_account", "priority_class", "runtime_class"]);
  });
});
