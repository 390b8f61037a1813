import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import type { KubeClient } from "../../src/environments/kubernetes/connection/kube-client.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { adminKubeconfig, nodeName } from "../kubernetes-rig/cluster-places.ts";
import { openApi } from "../providers/kubernetes/cluster-room.ts";
import { cluster, clusterTask, makeClusterJob, type ClusterJob } from "./cluster-job.ts";
import { cannotRun } from "./rollout-cli.ts";

const never = new AbortController().signal;
const forever = "mkdir -p /app; touch /app/started; sleep 600";
const once = { max_attempts: 0 };
const patiently = { max_attempts: 2, initial_delay_ms: 10 };

async function failureOf(job: ClusterJob, agent = "agent"): Promise<TrialResultFile> {
  expect(await job.pods()).toEqual([]);
  return job.readJson<TrialResultFile>(`jobs/job/${agent}/tasks/one__1/result.json`);
}

test.for([
  ["agent_install_failed", { install: forever, execute: "true" }, undefined],
  ["agent_execution_failed", { execute: forever }, undefined],
  ["verifier_failed", { execute: "true" }, forever],
] as const)("a Pod that somebody deletes fails its phase with %s", async ([type, agent, script], context) => {
  const job = await makeClusterJob(context, { agents: [{ name: "agent", ...agent }], retry: once });
  if (script !== undefined) await job.writeTask("tasks/one", { ...clusterTask, test: script });
  const running = job.startJob();
  await job.removePod(await job.agentOf(running));
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(3);
  const { error, reward } = await failureOf(job);
  expect(reward).toBeNull();
  expect(error).toMatchObject({ type, cause: "infrastructure" });
  expect(error?.message).toMatch(/deleted/);
});

describe("what a Pod does to itself is not tried again:", () => {
  test("one that stores more than it may is ended by its limit, and the agent is to blame", async (context) => {
    const execute = "head -c 40000000 /dev/zero > /big; sleep 600";
    const job = await makeClusterJob(context, { agents: [{ name: "agent", execute }], retry: patiently });
    await job.writeTask("tasks/one", { ...clusterTask, toml: clusterTask.toml?.replace("1Gi", "10Mi") });
    const { code, stderr } = await job.startJob().ended;
    expect(code, stderr).toBe(3);
    const { error, tries } = await failureOf(job);
    expect(error).toMatchObject({ type: "agent_execution_failed", cause: "agent" });
    expect(error?.message).toContain("was ended by the storage limit of 10Mi");
    expect(tries).toBe(1);
  });

  test("one with more processes than it may have is ended, and the agent is to blame", async (context) => {
    // 200 at most: no more are ever asked for.
    const execute = "echo begun > /logs/agent/begun; for i in {1..200}; do sleep 300 & done; sleep 600";
    const job = await makeClusterJob(context, { agents: [{ name: "agent", execute }], retry: patiently });
    const { code, stderr } = await job.startJob("--set", "environment.pids_limit=64").ended;
    expect(code, stderr).toBe(3);
    expect(stderr).toContain("this environment limits pids only as advice");
    const { error, tries, environment } = await failureOf(job);
    expect(error).toMatchObject({ type: "agent_execution_failed", cause: "agent" });
    expect(error?.message).toContain("it had more processes than the limit of 64");
    expect(tries).toBe(1);
    expect(environment).toMatchObject({ limits: { pids: 64 } });
    expect(await job.read("jobs/job/agent/tasks/one__1/logs/agent/begun")).toBe("begun\n");
  });

  test("one that ends itself has failed, and the agent is to blame", async (context) => {
    const agents = [{ name: "agent", execute: "echo so far; kill -TERM 1; sleep 600" }];
    const job = await makeClusterJob(context, { agents, retry: patiently });
    const { code, stderr } = await job.startJob().ended;
    expect(code, stderr).toBe(3);
    const { error, tries } = await failureOf(job);
    expect(error).toMatchObject({ type: "agent_execution_failed", cause: "agent" });
    expect(error?.message).toContain("was ended from inside");
    expect(tries).toBe(1);
  });

  test("one that lives longer than its deadline is ended by the cluster, and how to have more is told", async (context) => {
    const agents = [{ name: "agent", execute: forever }];
    const job = await makeClusterJob(context, { agents, config: { deadline_sec: 12 }, retry: patiently });
    const { code, stderr } = await job.startJob().ended;
    expect(code, stderr).toBe(3);
    const { error, tries } = await failureOf(job);
    expect(error).toMatchObject({ type: "agent_execution_failed", cause: "infrastructure" });
    expect(error?.message).toContain("DeadlineExceeded");
    expect(tries).toBe(1);
    expect(await job.read("jobs/job/agent/tasks/one__1/error.txt")).toContain("provider_config.deadline_sec");
  });
});

test("a Pod that makes room for a more important one is lost to that, in the scheduler's words", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  if (cluster.env["KUBECONFIG"] !== adminKubeconfig) cannotRun(context, "only a cluster of our own may be disturbed");
  const api = await openApi(cluster.env);
  const slot = await makeSlot(api);
  // Below all others, so that nobody else's Pods have to make room.
  const [low, high] = [await makePriority(api, -20), await makePriority(api, -10)];
  const config = { resources: { requests: { [slot]: 1 } } };
  const victim = await makeClusterJob(context, {
    agents: [{ name: "agent", execute: forever }],
    config: { ...config, priority_class: low },
    retry: once,
  });
  const running = victim.startJob();
  await victim.agentOf(running);
  const important = await makeClusterJob(context, { config: { ...config, priority_class: high } });
  const { code, stderr } = await important.startJob().ended;
  expect(code, stderr).toBe(0);
  expect((await running.ended).code).toBe(3);
  const { error } = await failureOf(victim);
  expect(error).toMatchObject({ type: "agent_execution_failed", cause: "infrastructure" });
  expect(error?.message).toMatch(/PreemptionByScheduler: .*preempting/);
  expect(await important.pods()).toEqual([]);
});

// Something of which the node has one.
async function makeSlot(api: KubeClient): Promise<string> {
  const name = `rollout.test/slot-${randomUUID().slice(0, 8)}`;
  const key = name.replace("/", "~1");
  const patch = async (op: "add" | "remove"): Promise<void> => {
    const json = ["capacity", "allocatable"].map((part) => ({ op, path: `/status/${part}/${key}`, value: "1" }));
    const contentType = "application/json-patch+json";
    const path = `/api/v1/nodes/${nodeName}/status`;
    await api.json({ method: "PATCH", path, json, contentType, signal: never });
  };
  await patch("add");
  onTestFinished(() => patch("remove"));
  return name;
}

async function makePriority(api: KubeClient, value: number): Promise<string> {
  const name = `rollout-test-${randomUUID().slice(0, 8)}`;
  const path = "/apis/scheduling.k8s.io/v1/priorityclasses";
  const kind = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass" };
  await api.json({ method: "POST", path, json: { ...kind, metadata: { name }, value }, signal: never });
  onTestFinished(async () => void (await api.json({ method: "DELETE", path: `${path}/${name}`, signal: never })));
  return name;
}
