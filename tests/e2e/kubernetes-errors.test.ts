import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, type TestContext } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { buildahImage, makeBuildahImage } from "../kubernetes-rig/builder-image.ts";
import { addresses } from "../kubernetes-rig/cluster-places.ts";
import { testImage } from "../kubernetes-rig/find-cluster.ts";
import { importImage, publishImage } from "../kubernetes-rig/start-cluster.ts";
import { needsOwnRegistry } from "../providers/kubernetes/build-room.ts";
import { openApi } from "../providers/kubernetes/cluster-room.ts";
import { openAccount, roleOfGuide } from "../providers/kubernetes/open-account.ts";
import { cluster, clusterTask, makeClusterJob, type ClusterJob } from "./cluster-job.ts";
import { cannotRun, type TaskOptions } from "./rollout-cli.ts";

const never = new AbortController().signal;
const retry = { max_attempts: 2, initial_delay_ms: 10 };
const contains = (text: string): unknown => expect.stringContaining(text);
const matches = (text: RegExp): unknown => expect.stringMatching(text);
const withImage = (image: string): TaskOptions => ({
  ...clusterTask,
  toml: clusterTask.toml?.replace(testImage, image),
});

async function trialOf(job: ClusterJob, key: string): Promise<TrialResultFile> {
  return job.readJson<TrialResultFile>(`jobs/job/${key}/result.json`);
}

/** Runs a job all of whose trials fail, and gives what each recorded; no Pod may be left. */
async function failAll(
  context: TestContext,
  tasks: Readonly<Record<string, TaskOptions>>,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly job: ClusterJob; readonly results: Readonly<Record<string, TrialResultFile>> }> {
  const job = await makeClusterJob(context, { n_concurrent_trials: 4, ...changes });
  for (const [name, task] of Object.entries(tasks)) await job.writeTask(`tasks/${name}`, task);
  const { code, stderr } = await job.startJob("--exclude", "one").ended;
  expect(code, stderr).toBe(3);
  const { results, completed_trials } = await job.readJson<JobResultFile>("jobs/job/result.json");
  expect(completed_trials).toBe(0);
  const entries = results.map(async ({ agent_name: agent, task_name: task }) => {
    const name = agent === "oracle" ? task : agent;
    return [name, await trialOf(job, `${agent}/tasks/${task}__1`)] as const;
  });
  expect(await job.pods()).toEqual([]);
  return { job, results: Object.fromEntries(await Promise.all(entries)) };
}

describe("while a Pod waits for a place:", () => {
  // Far shorter than it waits: the cluster has limits of its own.
  const toml = `${clusterTask.toml}build_timeout_sec = 1\n`;

  async function waitInVain(context: TestContext, config: Record<string, unknown>): Promise<[string[], string]> {
    const job = await makeClusterJob(context, {
      config: { ...config, schedule_limit_sec: 4 },
      retry,
    });
    await job.writeTask("tasks/one", { ...clusterTask, toml });
    const { code, stdout, stderr } = await job.startJob("--json=events").ended;
    expect(code, stderr).toBe(3);
    const { error, tries } = await trialOf(job, "oracle/tasks/one__1");
    expect(error).toMatchObject({ type: "environment_resource_allocation_failed", cause: "infrastructure" });
    expect(tries).toBe(1);
    const events = stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as { line?: string }]));
    return [events.flatMap(({ line }) => (line === undefined ? [] : [line])), error?.message ?? ""];
  }

  test("what it waits for is shown as it waits, and told in the scheduler's words", async (context) => {
    const [shown, message] = await waitInVain(context, { node_selector: { pool: "nowhere" } });
    expect(shown).toContainEqual(matches(/^waits for a node: .*didn't match Pod's node affinity\/selector/));
    expect(message).toMatch(/didn't match Pod's node affinity\/selector/);
  });

  test("a quota without room is shown and told the same way", async (context) => {
    if (cluster.reason !== null) cannotRun(context, cluster.reason);
    const namespace = await makeNamespace({ "count/pods": "1" });
    await fill(namespace);
    const [shown, message] = await waitInVain(context, { namespace });
    expect(shown).toContainEqual(matches(/^waits for quota: .*exceeded quota: few/));
    expect(message).toMatch(/exceeded quota: few/);
  });

  test("a task that asks for more than the quota holds fails at once, and its neighbour runs", async (context) => {
    if (cluster.reason !== null) cannotRun(context, cluster.reason);
    const namespace = await makeNamespace({ "limits.memory": "300Mi" });
    const job = await makeClusterJob(context, { config: { namespace }, retry });
    await job.writeTask("tasks/large", { ...clusterTask, toml: clusterTask.toml?.replace("256Mi", "1Gi") });
    const { code, stderr } = await job.startJob().ended;
    expect(code, stderr).toBe(3);
    expect((await trialOf(job, "oracle/tasks/one__1")).reward).toBe(1);
    expect(await trialOf(job, "oracle/tasks/large__1")).toMatchObject({
      error: { type: "environment_resource_allocation_failed", message: contains("exceeded quota: few") },
      tries: 1,
    });
  });

  async function makeNamespace(hard: Record<string, string>): Promise<string> {
    const api = await openApi(cluster.env);
    const name = `rollout-quota-${randomUUID().slice(0, 8)}`;
    const path = "/api/v1/namespaces";
    await api.json({ method: "POST", path, json: { metadata: { name } }, signal: never });
    onTestFinished(async () => void (await api.json({ method: "DELETE", path: `${path}/${name}`, signal: never })));
    const json = { metadata: { name: "few" }, spec: { hard } };
    await api.json({ method: "POST", path: `${path}/${name}/resourcequotas`, json, signal: never });
    return name;
  }

  // A Pod of somebody else that never starts, and counts all the same.
  async function fill(namespace: string): Promise<void> {
    const api = await openApi(cluster.env);
    const spec = { nodeSelector: { pool: "nowhere" }, containers: [{ name: "main", image: testImage }] };
    const json = { metadata: { name: "other" }, spec };
    const path = `/api/v1/namespaces/${namespace}/pods`;
    // The namespace's account and the quota are ready a moment after they are made.
    const isMade = (): Promise<boolean> =>
      api.json({ method: "POST", path, json, signal: never }).then(
        () => true,
        () => false,
      );
    while (!(await isMade())) await sleep(100);
  }
});

describe("while an image is had:", () => {
  test("one that does not exist, may not be had or has no name is told, and not tried again", async (context) => {
    needsOwnRegistry(context, cluster);
    const closed = `${addresses.privateRegistry}/${publishImage(testImage, `errors:${randomUUID()}`)}`;
    const tasks = {
      absent: withImage(`${addresses.registry}/nobody/made:this`),
      closed: withImage(closed),
      nameless: withImage("Not:A:Name"),
    };
    const { results } = await failAll(context, tasks, { retry });
    const failed = (message: unknown): object => ({
      error: { type: "environment_image_pull_failed", cause: "infrastructure", message },
      environment: null,
      tries: 1,
    });
    expect(results["absent"]).toMatchObject(failed(matches(/ErrImagePull.*not found/)));
    expect(results["closed"]).toMatchObject(failed(matches(/ErrImagePull.*401 Unauthorized/)));
    expect(results["nameless"]).toMatchObject(failed(contains("InvalidImageName")));
  });

  test("a Dockerfile that fails or takes too long in its builder is the task's fault", async (context) => {
    needsOwnRegistry(context, cluster);
    importImage(await makeBuildahImage());
    const base = `${addresses.registry}/${publishImage(testImage, "base:1")}`;
    const config = {
      registry: `${addresses.registry}/evals`,
      registry_insecure: true,
      builder: { kind: "buildah", image: buildahImage, pod_patch: { spec: { hostNetwork: true } } },
    };
    const toml = clusterTask.toml?.replace(/docker_image.*\n/, "");
    const built = (run: string, limits = ""): TaskOptions => ({
      ...clusterTask,
      toml: `${toml}${limits}`,
      dockerfile: `FROM ${base}\nRUN echo ${randomUUID()}; ${run}\n`,
    });
    const tasks = { broken: built("exit 7"), slow: built("sleep 600", "build_timeout_sec = 20\n") };
    const { results } = await failAll(context, tasks, { config, retry });
    expect(results["broken"]).toMatchObject({
      error: { type: "environment_build_failed", cause: "task", message: contains("exit status 7") },
      tries: 1,
    });
    expect(results["slow"]?.error).toMatchObject({ type: "environment_build_timeout", cause: "task" });
  });

  test("a Dockerfile without a registry makes its task invalid, and no Pod", async (context) => {
    const toml = clusterTask.toml?.replace(/docker_image.*\n/, "");
    const { results } = await failAll(context, { a: { ...clusterTask, toml, dockerfile: `FROM ${testImage}\n` } });
    expect(results["a"]).toMatchObject({
      error: { type: "task_invalid", message: contains("provider_config.registry"), cause: "task" },
      environment: null,
    });
  });
});

describe("while a Pod starts:", () => {
  const failed = (cause: unknown, message: unknown): object => ({
    error: { type: "environment_start_failed", cause, message },
    environment: null,
    tries: 1,
  });

  test("an image without a shell, and a memory limit that nothing can start in, are the task's fault", async (context) => {
    needsOwnRegistry(context, cluster);
    const tasks = {
      shell: withImage("rollout.test/pause:1"),
      memory: { ...clusterTask, toml: clusterTask.toml?.replace("256Mi", "1Mi") },
    };
    const { job, results } = await failAll(context, tasks, { retry });
    expect(results["shell"]).toMatchObject(failed("task", matches(/StartError.*"sh".*not found/s)));
    expect(results["memory"]).toMatchObject(failed("task", matches(/memory|OOMKilled/)));
    expect(await job.read("jobs/job/oracle/tasks/shell__1/error.txt")).toContain("use an image that has `sh`");
  });

  test.for([
    ["a user that the settings forbid", { security_context: { run_as_non_root: true } }, "configuration", /root/],
    ["a container that ends", crashing("Never"), "task", /ended at once with exit code 5/],
    // Which of its crashes is seen first is not told.
    ["a container that crashes", crashing("Always"), matches(/./), /ended.* 5|CrashLoopBackOff/],
    [
      "a volume that nobody has made",
      { volumes: [{ mount_path: "/v", source: { secret: { secretName: "nobody" } } }], start_limit_sec: 30 },
      "infrastructure",
      /did not start in time: it starts: FailedMount: .*secret "nobody" not found/,
    ],
  ] as const)("%s fails the start once", async ([, config, cause, words], context) => {
    const { results } = await failAll(context, { a: clusterTask }, { config, retry: { max_attempts: 0 } });
    expect(results["a"]).toMatchObject(failed(cause, matches(words)));
  });

  function crashing(restartPolicy: string): Record<string, unknown> {
    const main = { name: "main", image: testImage, command: ["sh", "-c", "exit 5"] };
    return { pod_patch: { spec: { restartPolicy, containers: [main] } } };
  }
});

describe("while it runs:", () => {
  test("what an agent does wrong is told apart", async (context) => {
    const toml = `[agent]\ninstall_timeout_sec = 5\ntimeout_sec = 15\n${clusterTask.toml?.replace("256Mi", "64Mi")}`;
    const agents = [
      { name: "install-fails", install: "echo no wheel >&2; exit 9", execute: "true" },
      { name: "install-hangs", install: "sleep 600", execute: "true" },
      { name: "fails", execute: "echo so far > /logs/agent/notes; exit 42" },
      { name: "hangs", execute: "echo begun; sleep 600" },
      { name: "eats", execute: "exec dd if=/dev/zero of=/dev/null bs=300M count=1" },
    ];
    const { job, results } = await failAll(context, { a: { ...clusterTask, toml } }, { agents });
    const failed = (type: string, message: unknown = expect.anything()): object => ({
      error: { type, cause: "agent", message },
    });
    expect(results["install-fails"]).toMatchObject(failed("agent_install_failed", matches(/code 9[^]*no wheel/)));
    expect(results["install-hangs"]).toMatchObject(failed("agent_install_timeout"));
    expect(results["fails"]).toMatchObject(failed("agent_execution_failed", contains("exited with code 42")));
    expect(results["hangs"]).toMatchObject(failed("agent_execution_timeout"));
    expect(results["eats"]).toMatchObject(failed("agent_execution_failed", contains("memory limit of 64Mi")));
    expect(await job.read("jobs/job/fails/tasks/a__1/logs/agent/notes")).toBe("so far\n");
    expect(await job.read("jobs/job/hangs/tasks/a__1/command/stdout.txt")).toBe("begun\n");
  });

  test("what tests do wrong is told apart", async (context) => {
    const tested = (script: string, more = ""): TaskOptions => ({
      ...clusterTask,
      toml: `${more}${clusterTask.toml}`,
      test: script,
    });
    const { results } = await failAll(context, {
      fails: tested("echo 1 > /logs/verifier/reward.txt; exit 3"),
      hangs: tested("sleep 600", "[verifier]\ntimeout_sec = 5\n"),
      none: tested("true"),
      words: tested("echo passed > /logs/verifier/reward.txt"),
      eats: tested("exec dd if=/dev/zero of=/dev/null bs=900M count=1"),
    });
    expect(Object.entries(results).map(([name, { error }]) => [name, error?.type, error?.cause])).toEqual([
      ["eats", "verifier_failed", null],
      ["fails", "verifier_failed", null],
      ["hangs", "verifier_timeout", null],
      ["none", "verifier_reward_missing", null],
      ["words", "verifier_reward_invalid", null],
    ]);
    expect(results["eats"]?.error?.message).toContain("memory limit of 256Mi");
  });
});

describe("what an account may not do:", () => {
  test("a right that is missing is told before the first Pod", async (context) => {
    if (cluster.reason !== null) cannotRun(context, cluster.reason);
    const { namespace, kubeconfig } = await openAccount(
      cluster.env,
      roleOfGuide().filter(({ resources }) => !resources.includes("pods/exec")),
    );
    const job = await makeClusterJob(context, { config: { namespace }, env: { KUBECONFIG: kubeconfig } });
    const { code, stderr } = await job.startJob().ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/may not create pods\/exec, get pods\/exec in the namespace/);
    expect(await job.files("jobs").catch(() => [])).toEqual([]);
  });

  test("a setting that it may not look up is told before the first Pod, with its line", async (context) => {
    if (cluster.reason !== null) cannotRun(context, cluster.reason);
    const { namespace, kubeconfig } = await openAccount(cluster.env, roleOfGuide());
    const config = { namespace, service_account: "nobody" };
    const job = await makeClusterJob(context, { config, env: { KUBECONFIG: kubeconfig } });
    const { code, stderr } = await job.startJob().ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/job\.yaml:\d+:\d+ environment\.provider_config\.service_account: .*"nobody" not found/);
    expect(stderr).toContain("nothing was started");
    expect(await job.files("jobs").catch(() => [])).toEqual([]);
  });

  test("one that is taken away while the agent works fails the teardown, and the reward stays", async (context) => {
    if (cluster.reason !== null) cannotRun(context, cluster.reason);
    const { namespace, kubeconfig } = await openAccount(cluster.env, roleOfGuide());
    const execute = "mkdir -p /app; touch /app/started; while [ ! -e /app/go ]; do sleep 0.1; done; touch /app/done";
    const job = await makeClusterJob(context, {
      agents: [{ name: "agent", execute }],
      config: { namespace },
      env: { KUBECONFIG: kubeconfig },
    });
    const running = job.startJob();
    const pod = await job.agentOf(running);
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/rollout`;
    const rules = roleOfGuide().map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => verb !== "delete") }));
    const contentType = "application/merge-patch+json";
    await job.api.json({ method: "PATCH", path, json: { rules }, contentType, signal: never });
    await job.touch(pod, "/app/go");
    const { code, stderr } = await running.ended;
    expect(code, stderr).toBe(0);
    expect(stderr).toContain(`kubectl`);
    const result = await trialOf(job, "agent/tasks/one__1");
    expect(result.reward).toBe(1);
    expect(result.error).toMatchObject({ type: "environment_teardown_failed", message: matches(/forbidden/) });
    expect(await job.pods()).toEqual([pod]);
  });
});
