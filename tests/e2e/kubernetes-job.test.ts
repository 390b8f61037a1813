import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { findProgram } from "../engines/install-packages.ts";
import { binaryDir } from "../kubernetes-rig/build-binary.ts";
import { buildahImage, makeBuildahImage } from "../kubernetes-rig/builder-image.ts";
import { addresses } from "../kubernetes-rig/cluster-places.ts";
import { testImage } from "../kubernetes-rig/find-cluster.ts";
import { importImage, publishImage } from "../kubernetes-rig/start-cluster.ts";
import { needsOwnRegistry } from "../providers/kubernetes/build-room.ts";
import { overcommit } from "../providers/kubernetes/cluster-room.ts";
import { cluster, clusterTask, makeClusterJob } from "./cluster-job.ts";
import { cannotRun, command } from "./rollout-cli.ts";

test("a job runs in Pods, is marked, priced and leaves none", async (context) => {
  const agents = [{ name: "oracle" }, { name: "nop" }];
  const config = { price_per_cpu_hour: 3600, price_per_gib_hour: 0 };
  const job = await makeClusterJob(context, {
    agents,
    n_concurrent_trials: 4,
    n_attempts: 2,
    config: { ...overcommit, ...config },
  });
  const { code, stderr } = await job.startJob().ended;
  expect(code, stderr).toBe(0);
  const { results } = await job.readJson<JobResultFile>("jobs/job/result.json");
  expect(results.map(({ reward }) => reward)).toEqual([1, 1, 0, 0]);
  const trial = await job.readJson<TrialResultFile>("jobs/job/oracle/tasks/one__1/result.json");
  expect(trial.environment).toMatchObject({ provider: "kubernetes", namespace: "default", image: testImage });
  expect(trial.cost).toBeGreaterThan(0);
  expect(await job.pods()).toEqual([]);
});

test("a Pod that is deleted while the agent works costs a try, and the trial is passed", async (context) => {
  const execute = "mkdir -p /app; touch /app/started; sleep 4; touch /app/done";
  const job = await makeClusterJob(context, {
    agents: [{ name: "agent", execute }],
    retry: { max_attempts: 2, initial_delay_ms: 100 },
  });
  const running = job.startJob();
  await running.until("the Pod is there", async () => (await job.pods()).length === 1);
  await sleep(3500);
  const [first = ""] = await job.pods();
  await job.removePod(first);
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  const { results } = await job.readJson<JobResultFile>("jobs/job/result.json");
  expect(results.map(({ reward }) => reward)).toEqual([1]);
  expect(await job.pods()).toEqual([]);
});

test("an interrupted job leaves no Pod", async (context) => {
  const job = await makeClusterJob(context, { agents: [{ name: "agent", execute: "echo begun; sleep 600" }] });
  const running = job.startJob();
  await running.until("the Pod is there", async () => (await job.pods()).length === 1);
  await sleep(2500);
  running.kill("SIGINT");
  expect((await running.ended).code).toBe(130);
  expect(await job.pods()).toEqual([]);
});

test("what a killed job left is found by clean, and only that", async (context) => {
  const job = await makeClusterJob(context, { agents: [{ name: "agent", execute: "sleep 600" }] });
  const running = job.startJob();
  await running.until("the Pod is there", async () => (await job.pods()).length === 1);
  await sleep(2000);
  running.kill("SIGKILL");
  await running.ended;
  const [left = ""] = await job.pods();
  const dry = await job.runWords("clean", "--provider", "k8s", "--dry-run");
  expect(dry.stdout).toContain(`kubernetes: ${left} of job job: would be removed`);
  expect(await job.pods()).toEqual([left]);
  const { code, stdout } = await job.runWords("clean", "--provider", "k8s");
  expect(code, stdout).toBe(0);
  expect(await job.pods()).toEqual([]);
});

test("a kept Pod stays until its job is cleaned", async (context) => {
  const environment = { type: "k8s", preserve_env: "always", provider_config: overcommit };
  const job = await makeClusterJob(context, { environment });
  const { code, stderr } = await job.startJob().ended;
  expect(code, stderr).toBe(0);
  const { stdout } = await job.runWords("clean", "jobs/job");
  expect(stdout).toMatch(/removed: kept on purpose/);
});

test("a shell is opened in a kept Pod, and ends with its exit code", async (context) => {
  const kubectl = existsSync(join(binaryDir(), "kubectl")) ? binaryDir() : dirname(findProgram("kubectl") ?? "");
  if (kubectl === ".") cannotRun(context, "kubectl is not installed");
  const env = { PATH: `${kubectl}:${process.env["PATH"]}` };
  const job = await makeClusterJob(context, { env, preserve: "always" });
  const { code, stderr } = await job.startJob().ended;
  expect(code, stderr).toBe(0);
  const trial = "jobs/job/oracle/tasks/one__1";
  expect(stderr).toMatch(new RegExp(`^kept environment \\S+; enter it with: rollout enter ${trial}$`, "m"));
  const line = `echo 'ls /app; exit 5' | '${command.join("' '")}' enter ${trial}`;
  const entered = await job.run([], { command: ["sh", "-c", line], env: { ...cluster.env, ...env } });
  expect(entered.stdout).toBe("done\n");
  expect(entered.code).toBe(5);
  const [pod = ""] = await job.pods();
  expect((await job.runWords("clean", "jobs/job")).stdout).toContain(`${pod} of job job: removed`);
  expect(await job.pods()).toEqual([]);
});

test("a Dockerfile is built in the cluster, with its log beside the job", async (context) => {
  needsOwnRegistry(context, cluster);
  importImage(await makeBuildahImage());
  const base = `${addresses.registry}/${publishImage(testImage, "base:1")}`;
  const job = await makeClusterJob(context, {
    n_attempts: 2,
    config: {
      // Only from the node's own network that door can be seen.
      registry: `${addresses.registry}/evals`,
      registry_insecure: true,
      builder: { kind: "buildah", image: buildahImage, pod_patch: { spec: { hostNetwork: true } } },
    },
  });
  const toml = clusterTask.toml?.replace(/docker_image.*\n/, "");
  const dockerfile = `FROM ${base}\nRUN echo ${randomUUID()} > /made && echo has made it\n`;
  await job.writeTask("tasks/one", { ...clusterTask, toml, dockerfile });
  const { code, stderr } = await job.startJob().ended;
  expect(code, stderr).toBe(0);
  const logs = (await job.files("jobs/job/.rollout/images")).filter((name) => name.endsWith("build.log"));
  expect(logs).toHaveLength(1);
  expect(await job.read(`jobs/job/.rollout/images/${logs[0]}`)).toContain("has made it");
  expect(await job.pods()).toEqual([]);
});

test("what is wrong with provider_config is told with its line before the first Pod", async (context) => {
  const job = await makeClusterJob(context, { config: { priority_class: "nobody-has-it", namespce: "x" } });
  const misspelt = await job.startJob().ended;
  expect(misspelt.code).toBe(2);
  expect(misspelt.stderr).toMatch(/job\.yaml:\d+:\d+[^]*namespce[^]*namespace/);
  const other = await makeClusterJob(context, { config: { priority_class: "nobody-has-it" } });
  const unknown = await other.startJob().ended;
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toMatch(/job\.yaml:\d+:\d+[^]*nobody-has-it/);
});

test("an image that is not there fails its trials with the registry's words", async (context) => {
  const job = await makeClusterJob(context, { config: { pull: "never" } });
  const toml = clusterTask.toml?.replace(testImage, "rollout.test/nothing:1") ?? "";
  await job.writeTask("tasks/one", { ...clusterTask, toml });
  const { code } = await job.startJob().ended;
  expect(code).toBe(3);
  const trial = await job.readJson<TrialResultFile>("jobs/job/oracle/tasks/one__1/result.json");
  expect(trial.error).toMatchObject({ type: "environment_image_pull_failed", cause: "infrastructure" });
  expect(trial.error?.message).toMatch(/ErrImageNeverPull/);
});
