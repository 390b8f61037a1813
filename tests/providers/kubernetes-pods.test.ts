import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, type TestContext } from "vitest";
import type { Log } from "../../src/base/log.ts";
import { RolloutError } from "../../src/base/rollout-error.ts";
import { runScript } from "../../src/environments/conformance/run-command.ts";
import type { KubeClient } from "../../src/environments/kubernetes/connection/kube-client.ts";
import type { Pod } from "../../src/environments/kubernetes/pods/pod.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { adminKubeconfig, nodeName } from "../kubernetes-rig/cluster-places.ts";
import { findCluster, testImage } from "../kubernetes-rig/find-cluster.ts";
import { openApi, openRoom, testLimits } from "./kubernetes/cluster-room.ts";
import { failureOf } from "./kubernetes/failure-of.ts";
import { openAccount, roleOfGuide } from "./kubernetes/open-account.ts";
import { openKubernetes } from "./kubernetes/open-kubernetes.ts";

const never = new AbortController().signal;
const cluster = await findCluster();
const pods = "/api/v1/namespaces/default/pods";

function needsCluster(context: TestContext): void {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
}

async function makeObject(api: KubeClient, path: string, json: Record<string, unknown>): Promise<void> {
  const { name } = json["metadata"] as { name: string };
  await api.json({ method: "POST", path, json, signal: never });
  onTestFinished(
    async () => void (await api.json({ method: "DELETE", path: `${path}/${name}`, signal: never }).catch(() => {})),
  );
}

test("a Pod that somebody deletes is lost, with the reason", async (context) => {
  needsCluster(context);
  const { create } = await openRoom(cluster.env);
  const api = await openApi(cluster.env);
  const environment = await create();
  const running = failureOf(runScript(environment, "sleep 600", { signal: never }));
  await sleep(500);
  await api.json({ method: "DELETE", path: `${pods}/${environment.id}`, signal: never });
  const error = await running;
  expect(error).toMatchObject({ code: "environment_lost", transient: true });
  expect(error.message).toMatch(/deleted/);
});

// A `sleep` that does not sleep, for the one that the main process waits for.
const endSleep =
  "printf '#!/bin/sh\\nexit 3\\n' > /s; chmod +x /s; mv /s $(command -v sleep); for p in /proc/[0-9]*; do read -r n < $p/comm; [ $n = sleep ] && kill ${p#/proc/}; done; exec tail -f /dev/null";

test.for([
  ["by a signal", "kill -TERM 1; sleep 600"],
  ["by what its main process waits for", endSleep],
] as const)("a Pod that its own processes ended is not lost: %s", async ([, script], context) => {
  needsCluster(context);
  const { create } = await openRoom(cluster.env);
  const environment = await create();
  const error = await failureOf(runScript(environment, script, { signal: never }));
  expect(error).toMatchObject({ code: "environment_ended", transient: false });
  expect(error.message).toMatch(/was ended from inside/);
});

test("neither is it for an account that may not see what its node says of it", async (context) => {
  needsCluster(context);
  const { namespace, kubeconfig } = await openAccount(cluster.env, roleOfGuide());
  const { create } = await openRoom({ KUBECONFIG: kubeconfig }, { namespace });
  const error = await failureOf(runScript(await create(), "kill -TERM 1; sleep 600", { signal: never }));
  expect(error).toMatchObject({ code: "environment_ended", transient: false });
});

test("a Pod that its node ends, because its sandbox died, is lost", async (context) => {
  needsCluster(context);
  if (cluster.env["KUBECONFIG"] !== adminKubeconfig) cannotRun(context, "only a cluster of our own may be disturbed");
  const { create } = await openRoom(cluster.env);
  const api = await openApi(cluster.env);
  const environment = await create();
  const running = failureOf(runScript(environment, "sleep 600", { signal: never }));
  const { metadata } = await api.json<Pod>({ method: "GET", path: `${pods}/${environment.id}`, signal: never });
  process.kill(findSandbox(metadata.uid ?? ""), "SIGKILL");
  const error = await running;
  expect(error).toMatchObject({ code: "environment_lost", transient: true });
  expect(error.message).toMatch(/ended with 143/);
});

// The process that holds a Pod's namespaces, on the node, which is this machine.
function findSandbox(uid: string): number {
  const isSandbox = (pid: string): boolean => {
    try {
      const groups = readFileSync(`/proc/${pid}/cgroup`, "utf8").replaceAll("_", "-");
      return groups.includes(uid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("/pause");
    } catch {
      return false;
    }
  };
  return Number(readdirSync("/proc").find((name) => /^\d+$/.test(name) && isSandbox(name)));
}

test("more processors than any node has are told in the scheduler's words", async (context) => {
  needsCluster(context);
  const { create } = await openRoom(cluster.env, { schedule_limit_sec: 3 });
  // One that ends would not make room enough.
  await create();
  const error = await failureOf(create({ limits: { ...testLimits, cpus: 400_000 } }));
  expect(error).toMatchObject({ code: "resource_allocation_failed", transient: false });
  expect(error.message).toMatch(/Insufficient cpu/);
});

test("a node that nobody has is told in the scheduler's words", async (context) => {
  needsCluster(context);
  const { create } = await openRoom(cluster.env, { node_selector: { pool: "nowhere" }, schedule_limit_sec: 3 });
  expect((await failureOf(create())).message).toMatch(/node selector|affinity/);
});

test("a scheduler that nobody has is told", async (context) => {
  needsCluster(context);
  const { create } = await openRoom(cluster.env, { scheduler: "nobody", schedule_limit_sec: 2 });
  const error = await failureOf(create());
  expect(error).toMatchObject({ code: "resource_allocation_failed", transient: false });
  expect(error.message).toMatch(/no scheduler has looked at it/);
});

// A namespace with a quota; both are gone after the test.
async function makeNamespace(hard: Record<string, string>): Promise<string> {
  const api = await openApi(cluster.env);
  const namespace = `rollout-quota-${randomUUID().slice(0, 8)}`;
  await makeObject(api, "/api/v1/namespaces", { metadata: { name: namespace } });
  const quota = { metadata: { name: "few" }, spec: { hard } };
  await makeObject(api, `/api/v1/namespaces/${namespace}/resourcequotas`, quota);
  return namespace;
}

test("a quota that is less than one Pod asks for is not waited for", async (context) => {
  needsCluster(context);
  const namespace = await makeNamespace({ "limits.memory": "128Mi" });
  const { create } = await openRoom(cluster.env, { namespace });
  const error = await failureOf(create());
  expect(error).toMatchObject({ code: "resource_allocation_failed", transient: false });
  expect(error.message).toMatch(
    /exceeded quota: few, requested: limits.memory=268435456, .*limited: limits.memory=128Mi/,
  );
});

test("a quota that is used up is waited for, then told", async (context) => {
  needsCluster(context);
  const namespace = await makeNamespace({ pods: "1" });
  const { create } = await openRoom(cluster.env, { namespace });
  const impatient = await openRoom(cluster.env, { namespace, schedule_limit_sec: 3 });
  const first = await create();
  const error = await failureOf(impatient.create());
  expect(error).toMatchObject({ code: "resource_allocation_failed", transient: false });
  expect(error.message).toMatch(/exceeded quota/);
  const second = create();
  await sleep(1000);
  await first.destroy(never);
  expect((await second).workdir).toBe("/");
});

test("waiting in vain for room that a Pod of the same job holds is worth another try", async (context) => {
  needsCluster(context);
  const namespace = await makeNamespace({ pods: "1" });
  const { create } = await openRoom(cluster.env, { namespace, schedule_limit_sec: 5 });
  const first = await create();
  expect(await failureOf(create())).toMatchObject({ code: "resource_allocation_failed", transient: true });
  await first.stop(never);
  // What is kept makes room for nobody; the watch may tell so a moment later.
  await sleep(500);
  expect(await failureOf(create())).toMatchObject({ code: "resource_allocation_failed", transient: false });
});

test.for([
  ["a name that is none", "Not A Name", /InvalidImageName|couldn't parse|invalid/i],
  ["a registry that does not answer", "127.0.0.1:9/nothing:1", /connection refused/],
] as const)("an image with %s fails its pull", async ([, image, words], context) => {
  needsCluster(context);
  const { create } = await openRoom(cluster.env);
  const error = await failureOf(create({ image }));
  expect(error.code).toBe("image_pull_failed");
  expect(error.message).toMatch(words);
});

test("what the memory limit killed is told", async (context) => {
  needsCluster(context);
  const { create } = await openRoom(cluster.env);
  const environment = await create({ limits: { ...testLimits, memoryBytes: 64 * 2 ** 20 } });
  const script = "head -c 300000000 /dev/zero | tail; true";
  expect((await runScript(environment, script, { signal: never })).outOfMemory).toBe(true);
});

test("nothing is left of a creation that failed or was aborted", async (context) => {
  needsCluster(context);
  const { create, provider } = await openRoom(cluster.env, { node_selector: { pool: "nowhere" } });
  const labels = { "rollout-test": randomUUID() };
  const controller = new AbortController();
  const creating = failureOf(create({ labels, signal: controller.signal }));
  await sleep(500);
  const reason = new RolloutError("exec_failed", "the deadline of the test");
  controller.abort(reason);
  expect(await creating).toBe(reason);
  expect(await provider.findEnvironments(labels, never)).toEqual([]);
});

async function cordon(api: KubeClient, isClosed: boolean): Promise<void> {
  const json = { spec: { unschedulable: isClosed ? true : null } };
  const contentType = "application/merge-patch+json";
  await api.json({ method: "PATCH", path: `/api/v1/nodes/${nodeName}`, json, contentType, signal: never });
}

test("a node that takes no Pods is waited for and told, and used as soon as it takes them again", async (context) => {
  needsCluster(context);
  if (cluster.env["KUBECONFIG"] !== adminKubeconfig) cannotRun(context, "only a cluster of our own may be disturbed");
  const api = await openApi(cluster.env);
  await cordon(api, true);
  onTestFinished(() => cordon(api, false));
  const impatient = await openRoom(cluster.env, { schedule_limit_sec: 1 });
  const error = await failureOf(impatient.create());
  expect(error).toMatchObject({ code: "resource_allocation_failed", transient: false });
  expect(error.message).toMatch(/unschedulable/);
  const told = Promise.withResolvers<string>();
  const log: Log = {
    write: (_level, words) => {
      if (/waits for a node:.*unschedulable/.test(words)) told.resolve(words);
    },
  };
  const provider = await openKubernetes(cluster.env, { requests_ratio: 0.02 }, log);
  onTestFinished(() => provider[Symbol.asyncDispose]());
  const name = `test-${randomUUID()}`;
  const given = { image: testImage, name, limits: testLimits, place: [], labels: {}, signal: never };
  const creating = provider.createEnvironment(given);
  expect(await Promise.race([told.promise, creating.then(() => "it did not wait")])).toMatch(/unschedulable/);
  await cordon(api, false);
  const environment = await creating;
  expect((await runScript(environment, "echo on", { signal: never })).stdout.toString()).toBe("on\n");
  await environment.destroy(never);
});

test("a Pod that is evicted is lost, in the cluster's words", async (context) => {
  needsCluster(context);
  const { create } = await openRoom(cluster.env);
  const api = await openApi(cluster.env);
  const environment = await create();
  const running = failureOf(runScript(environment, "sleep 600", { signal: never }));
  await sleep(500);
  const json = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: environment.id } };
  await api.json({ method: "POST", path: `${pods}/${environment.id}/eviction`, json, signal: never });
  const error = await running;
  expect(error).toMatchObject({ code: "environment_lost", transient: true });
  expect(error.message).toMatch(/EvictionByEvictionAPI/);
});
