import { expect, test, type TestContext } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import { adminKubeconfig } from "../kubernetes-rig/cluster-places.ts";
import { restartApiServer, restartRuntime } from "../kubernetes-rig/start-cluster.ts";
import { cluster, makeClusterJob, type ClusterJob } from "./cluster-job.ts";
import { cannotRun } from "./rollout-cli.ts";

const never = new AbortController().signal;
const lines = 60;
const execute = `mkdir -p /app; touch /app/started; for ((i = 0; i < ${lines}; i++)); do echo "line $i"; sleep 0.1; done; touch /app/done`;
const retry = { max_attempts: 2, initial_delay_ms: 100 };

function needsOwnCluster(context: TestContext): void {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  if (cluster.env["KUBECONFIG"] !== adminKubeconfig) cannotRun(context, "only a cluster of our own may be disturbed");
}

// Every trial has its reward and all that its agent said, and no Pod is left.
async function expectNothingLost(job: ClusterJob, trials: number): Promise<void> {
  const { results } = await job.readJson<JobResultFile>("jobs/job/result.json");
  expect(results.map(({ reward }) => reward)).toEqual(Array.from({ length: trials }, () => 1));
  const said = Array.from({ length: lines }, (_, index) => `line ${index}\n`).join("");
  for (let attempt = 1; attempt <= trials; attempt++) {
    expect(await job.read(`jobs/job/agent/tasks/one__${attempt}/command/stdout.txt`)).toBe(said);
  }
  expect(await job.pods()).toEqual([]);
}

test("a Pod that is evicted while its agent works costs a try, and nothing is lost or left", async (context) => {
  const job = await makeClusterJob(context, { agents: [{ name: "agent", execute }], retry });
  const running = job.startJob();
  const pod = await job.agentOf(running);
  const path = `/api/v1/namespaces/default/pods/${pod}/eviction`;
  const json = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod } };
  await job.api.json({ method: "POST", path, json, signal: never });
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  await expectNothingLost(job, 1);
  const trial = "jobs/job/agent/tasks/one__1";
  const told = (await job.files(trial)).filter((name) => /^retries\/.*error\.txt$/.test(name));
  expect(told).toHaveLength(1);
  expect(await job.read(`${trial}/${told[0]}`)).toMatch(/EvictionByEvictionAPI/);
});

test("trials go on while the container runtime is killed and comes back", async (context) => {
  needsOwnCluster(context);
  const job = await makeClusterJob(context, { agents: [{ name: "agent", execute }], n_attempts: 3, retry });
  const running = job.startJob();
  await job.agentOf(running);
  await restartRuntime(2000);
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  await expectNothingLost(job, 3);
});

test("trials go on while the API server is killed and comes back", async (context) => {
  needsOwnCluster(context);
  const job = await makeClusterJob(context, { agents: [{ name: "agent", execute }], n_attempts: 3, retry });
  const running = job.startJob();
  await job.agentOf(running);
  await restartApiServer(2000);
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  await expectNothingLost(job, 3);
});

test("what a killed job left is removed by the next one", async (context) => {
  const job = await makeClusterJob(context, { agents: [{ name: "agent", execute: `${execute}; sleep 600` }] });
  const first = job.startJob();
  const left = await job.agentOf(first);
  first.kill("SIGKILL");
  await first.ended;
  expect(await job.pods()).toEqual([left]);
  const next = job.startJob("--name", "next", "--set", "agents=[{name: oracle}]");
  const { code, stderr } = await next.ended;
  expect(code, stderr).toBe(0);
  expect(await job.read("jobs/next/.rollout/log.jsonl")).toContain(
    `removed environment ${left}, left by process ${first.pid}`,
  );
  expect(await job.pods()).toEqual([]);
});
