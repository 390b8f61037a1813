import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, type TestContext } from "vitest";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { base, makeDockerRoom, plainTask, type DockerRoom } from "./docker-rig.ts";
import { cannotRun, makeRoom, type TaskOptions } from "./rollout-cli.ts";

const never = new AbortController().signal;
const trialDir = "jobs/job/agent/tasks/a__1";
const image = `docker_image = "${base}"`;
const withToml = (toml: string, more: TaskOptions = {}): TaskOptions => ({ ...plainTask, toml, ...more });
const withDockerfile = (dockerfile: string, toml = ""): TaskOptions => ({ ...plainTask, dockerfile, toml });
const contains = (text: string): unknown => expect.stringContaining(text);

/** Runs one trial of the oracle that fails, and gives what it recorded; the command must say so by its exit code. */
async function failOne(
  context: TestContext,
  task: TaskOptions,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly room: DockerRoom; readonly result: TrialResultFile }> {
  const room = await makeDockerRoom(context);
  await room.writeDockerJob({ a: task }, changes);
  const running = room.startJob();
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(3);
  const [agent = { name: "oracle" }] = (changes["agents"] ?? []) as { name: string }[];
  const result = await room.trial(`${agent.name}/tasks/a__1`);
  expect(result.reward).toBeNull();
  expect(await room.jobResult()).toMatchObject({
    failed_trials: 1,
    completed_trials: 0,
    pass_rate: null,
    errors: { [result.error?.type ?? "none"]: 1 },
  });
  expect(await room.read(`jobs/job/${agent.name}/tasks/a__1/error.txt`)).toContain(result.error?.type ?? "none");
  expect(await room.containersOf(running.pid)).toEqual([]);
  return { room, result };
}

const scripted = (execute: string, more: object = {}): Record<string, unknown> => ({
  agents: [{ name: "agent", execute, ...more }],
});

describe("before anything starts:", () => {
  test("without an engine nothing is begun, and the way out is told", async () => {
    const room = await makeRoom();
    await room.writeTask("tasks/a", plainTask);
    await room.writeJob({ environment: { type: "docker" }, agents: [{ name: "oracle" }] });
    const env = { DOCKER_HOST: "unix:///nowhere/docker.sock" };
    const { code, stdout, stderr } = await room.run(["job.yaml"], { env });
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain("unix:///nowhere/docker.sock");
    expect(stderr).toContain("environment.type: local");
    expect(existsSync(room.path("jobs"))).toBe(false);
  });

  test("a quota that the engine's storage driver cannot keep is refused", async (context) => {
    const room = await makeDockerRoom(context);
    const { Driver, DriverStatus } = await room.engine.client.json<{ Driver: string; DriverStatus: string[][] }>({
      method: "GET",
      path: "/info",
      signal: never,
    });
    const storage = `${Driver} on ${DriverStatus.find(([key]) => key === "Backing Filesystem")?.[1]}`;
    if (storage.endsWith(" on xfs") || !storage.startsWith("overlay")) cannotRun(context, `${storage} may have quotas`);
    const environment = { type: "docker", provider_config: { storage_quota: true } };
    await room.writeDockerJob({ a: plainTask }, { environment });
    const { code, stderr } = await room.runJob();
    expect(code).toBe(2);
    expect(stderr).toContain(storage);
    expect(stderr).toContain("take storage_quota out");
    expect(existsSync(room.path("jobs"))).toBe(false);
  });

  test("what the engine does not have is told at its place, all at once", async (context) => {
    const room = await makeDockerRoom(context);
    const provider_config = {
      network: "no-such-network",
      runtime: "no-such-runtime",
      mounts: [{ source: "./no-such-folder", target: "/data" }],
    };
    await room.writeDockerJob({ a: plainTask }, { environment: { type: "docker", provider_config } });
    const running = room.startJob();
    const { code, stderr } = await running.ended;
    expect(code, stderr).toBe(2);
    expect(stderr).toMatch(
      /job\.yaml:\d+:\d+ environment\.provider_config\.network: unknown network "no-such-network"/,
    );
    expect(stderr).toContain("docker network create no-such-network");
    expect(stderr).toMatch(/environment\.provider_config\.runtime: unknown runtime "no-such-runtime"; known: .*runc/);
    expect(stderr).toMatch(/environment\.provider_config\.mounts\[0\]\.source: .*no-such-folder does not exist/);
    expect(existsSync(room.path("jobs"))).toBe(false);
    expect(await room.containersOf(running.pid)).toEqual([]);
  });

  test("a container whose network is to be shared must be there", async (context) => {
    const room = await makeDockerRoom(context);
    const environment = { type: "docker", provider_config: { network: "container:no-such-container" } };
    await room.writeDockerJob({ a: plainTask }, { environment });
    const { code, stderr } = await room.runJob();
    expect(code, stderr).toBe(2);
    expect(stderr).toContain('the engine has no container "no-such-container"');
  });

  test("names that no engine knows are found without one", async () => {
    const room = await makeRoom();
    await room.writeTask("tasks/a", plainTask);
    const provider_config = { cap_add: ["NET_ADMINN"], cap_drop: ["CAP_CHOWN", "nothing"] };
    await room.writeJob({ environment: { type: "docker", provider_config }, agents: [{ name: "oracle" }] });
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain('provider_config.cap_add[0]: unknown capability "NET_ADMINN"; did you mean "NET_ADMIN"?');
    expect(stderr).toMatch(/provider_config\.cap_drop\[1\]: unknown capability "nothing"; known: ALL, .*SYS_ADMIN/);
  });

  test("a task with neither a Dockerfile nor an image is invalid, and costs no container", async (context) => {
    const { result } = await failOne(context, withToml(""));
    expect(result).toMatchObject({
      error: { type: "task_invalid", message: contains("Dockerfile"), cause: "task" },
      environment: null,
      timestamps: { environment_setup_started_at: null },
    });
    expect(result.error?.message).toContain("docker_image");
  });

  test("an ignore file that is none makes its own task invalid, not its neighbours", async (context) => {
    const room = await makeDockerRoom(context);
    await room.writeDockerJob({ a: withDockerfile(`FROM ${base}\n`), b: plainTask });
    await room.write("tasks/a/environment/.dockerignore", "notes[\n");
    const { code, stderr } = await room.runJob();
    expect(code, stderr).toBe(3);
    expect(await room.trial("oracle/tasks/a__1")).toMatchObject({
      error: { type: "task_invalid", message: contains("notes["), cause: "task" },
      environment: null,
    });
    expect(await room.trial("oracle/tasks/b__1")).toMatchObject({ reward: 1, error: null });
  });

  test("a forced build without a Dockerfile is invalid, although the task names an image", async (context) => {
    const environment = { type: "docker", force_build: true };
    const { result } = await failOne(context, plainTask, { environment });
    expect(result).toMatchObject({
      error: { type: "task_invalid", message: contains("force_build"), cause: "task" },
      environment: null,
    });
  });
});

describe("while an image is made:", () => {
  test("a step that fails is the task's fault, and the end of the log is told", async (context) => {
    const lines = "for n in $(seq 300); do echo line $n; done; echo the last words >&2; exit 7";
    const { room, result } = await failOne(context, withDockerfile(`FROM ${base}\nRUN ${lines}\n`));
    expect(result.error).toMatchObject({ type: "environment_build_failed", cause: "task" });
    expect(result.error?.message).toContain("the last words");
    expect(result.error?.message).not.toContain("line 1\n");
    expect(result).toMatchObject({ environment: null, tries: 1, durations: { agent_setup_sec: null } });
    const [log = ""] = (await room.files("jobs/job/.rollout/images")).filter((file) => file.endsWith("build.log"));
    expect(await room.read(`jobs/job/.rollout/images/${log}`)).toContain("line 299");
  });

  test("a base image that cannot be had is named", async (context) => {
    const { room, result } = await failOne(context, withDockerfile("FROM localhost:9/no-such/base:1\n"));
    expect(result.error?.type).toBe("environment_build_failed");
    const named = "the base image localhost:9/no-such/base:1 cannot be had: ";
    expect(result.error?.message).toMatch(new RegExp(`^${named}`));
    for (const words of [
      ["show", "jobs/job"],
      ["show", "jobs/job/oracle/tasks/a__1"],
    ])
      expect((await room.run(words)).stdout).toContain(named.trim());
    const log = /log: (\S+build\.log)/.exec((await room.run(["show", "jobs/job/oracle/tasks/a__1"])).stdout)?.[1];
    expect(await room.read(log ?? "none")).toContain("localhost:9/no-such/base:1");
  });

  test("a Dockerfile that cannot be read is the task's fault", async (context) => {
    const { result } = await failOne(context, withDockerfile(`FROM ${base}\nRUNN true\n`));
    expect(result.error).toMatchObject({ type: "environment_build_failed", message: contains("RUNN"), cause: "task" });
  });

  test("a build that takes too long is cut", async (context) => {
    const dockerfile = `FROM ${base}\nRUN echo ${crypto.randomUUID()} && sleep 600\n`;
    const { result } = await failOne(context, withDockerfile(dockerfile, "[environment]\nbuild_timeout_sec = 3\n"));
    expect(result.error).toMatchObject({ type: "environment_build_timeout", cause: "task" });
    expect(result.timestamps.agent_execution_started_at).toBeNull();
  });

  test("an image that cannot be pulled is named, and infrastructure is to blame", async (context) => {
    const { result } = await failOne(context, withToml('[environment]\ndocker_image = "localhost:9/no/image:1"\n'));
    expect(result.error).toMatchObject({
      type: "environment_image_pull_failed",
      message: contains("localhost:9/no/image:1"),
      cause: "infrastructure",
    });
  });
});

describe("while a container starts:", () => {
  const retry = { max_attempts: 2, initial_delay_ms: 10 };
  const withConfig = (provider_config: object): Record<string, unknown> => ({
    environment: { type: "docker", provider_config },
    retry,
  });
  const refused = { tries: 1, environment: null, timestamps: { agent_setup_started_at: null } };

  test("a user that the image does not have is the task's fault, and is not tried again", async (context) => {
    const { result } = await failOne(context, withDockerfile(`FROM ${base}\nUSER no-such-user\n`), { retry });
    expect(result).toMatchObject({
      ...refused,
      error: { type: "environment_start_failed", message: contains("no-such-user"), cause: "task" },
    });
  });

  test.for<[string, object]>([
    ["user", { user: "no-such-user" }],
    ["gpus", { gpus: "all" }],
    ["ulimits", { ulimits: { nofile: 99_999_999_999_999 } }],
  ])(
    "a setting that the engine cannot follow (%s) is to blame itself, and is not tried again",
    async ([key, config], context) => {
      const { room, result } = await failOne(context, plainTask, withConfig(config));
      expect(result).toMatchObject({
        ...refused,
        error: {
          type: "environment_start_failed",
          message: contains(`provider_config.${key}`),
          cause: "configuration",
        },
      });
      expect(await room.jobResult()).toMatchObject({ causes: { configuration: 1 } });
    },
  );

  test("a limit that no container can live in is the task's fault", async (context) => {
    const toml = `[environment]\n${image}\nmemory = "1Mi"\n`;
    const { result } = await failOne(context, withToml(toml), { retry });
    expect(result).toMatchObject({ ...refused, error: { message: contains("memory limit"), cause: "task" } });
  });

  test("an image that nothing can keep alive fails the start, once, with what the container said", async (context) => {
    const dockerfile = `FROM ${base}\nRUN rm -f /bin/sleep /usr/bin/sleep\n`;
    const { room, result } = await failOne(context, withDockerfile(dockerfile), { retry });
    expect(result).toMatchObject({
      tries: 1,
      error: { type: "environment_start_failed", message: contains("exit code 127"), cause: "task" },
    });
    expect(result.error?.message).toContain("exec sleep failed");
    const hint = "hint: use an image that has `sleep`";
    expect(await room.read("jobs/job/oracle/tasks/a__1/error.txt")).toContain(hint);
    expect((await room.run(["show", "jobs/job/oracle/tasks/a__1"])).stdout).toContain(hint);
  });
});

describe("while the agent works:", () => {
  test("an installation that fails is told with its code and last words", async (context) => {
    const { room, result } = await failOne(
      context,
      plainTask,
      scripted("true", { install: "echo no wheel >&2; exit 9" }),
    );
    expect(result.error).toMatchObject({ type: "agent_install_failed", cause: "agent" });
    expect(result.error?.message).toContain("exited with code 9");
    expect(result.error?.message).toContain("no wheel");
    expect(result.timestamps.agent_execution_started_at).toBeNull();
    expect(await room.read(`${trialDir}/setup/stderr.txt`)).toBe("no wheel\n");
  });

  test("an installation that takes too long is cut", async (context) => {
    const toml = `[agent]\ninstall_timeout_sec = 2\n[environment]\n${image}\n`;
    const { result } = await failOne(context, withToml(toml), scripted("true", { install: "sleep 600" }));
    expect(result.error).toMatchObject({ type: "agent_install_timeout", cause: "agent" });
  });

  test("an agent that fails is not verified, and its logs are kept", async (context) => {
    const { room, result } = await failOne(context, plainTask, scripted("echo so far > /logs/agent/notes; exit 42"));
    expect(result.error).toMatchObject({ type: "agent_execution_failed", message: contains("exited with code 42") });
    expect(result.timestamps.verifier_started_at).toBeNull();
    expect(await room.read(`${trialDir}/logs/agent/notes`)).toBe("so far\n");
  });

  test("an agent that the memory limit kills is told so", async (context) => {
    const toml = `[environment]\n${image}\nmemory = "64Mi"\n`;
    const { result } = await failOne(
      context,
      withToml(toml),
      scripted("exec dd if=/dev/zero of=/dev/null bs=300M count=1"),
    );
    expect(result.error).toMatchObject({
      type: "agent_execution_failed",
      message: contains("killed by the memory limit of 64Mi"),
      cause: "agent",
    });
  });

  test("a process that the memory limit kills is a warning when the agent goes on without it", async (context) => {
    const room = await makeDockerRoom(context);
    const toml = `[environment]\n${image}\nmemory = "64Mi"\n`;
    const execute = "dd if=/dev/zero of=/dev/null bs=300M count=1; mkdir -p /app && touch /app/done";
    await room.writeDockerJob({ a: withToml(toml) }, scripted(execute));
    expect(await room.runJob()).toMatchObject({ code: 0 });
    expect(await room.trial("agent/tasks/a__1")).toMatchObject({
      reward: 1,
      error: null,
      warnings: ["the memory limit of 64Mi killed something that agent execution had started"],
    });
  });

  test("a timeout ends everything the agent started, daemons too, before its logs are read", async (context) => {
    const toml = `[agent]\ntimeout_sec = 3\n[environment]\n${image}\n`;
    const daemon = "trap '' TERM; while :; do date +%s%N > /logs/agent/tick; sleep 0.05; done";
    const execute = `setsid nohup bash -c ${JSON.stringify(daemon)} </dev/null >/dev/null 2>&1 & disown; echo begun; sleep 600`;
    const environment = { type: "docker", preserve_env: "on_failure" };
    const room = await makeDockerRoom(context);
    await room.writeDockerJob({ a: withToml(toml) }, { ...scripted(execute), environment });
    const running = room.startJob();
    expect(await running.ended).toMatchObject({ code: 3 });
    const result = await room.trial("agent/tasks/a__1");
    const [id = ""] = await room.containersOf(running.pid);
    expect(result).toMatchObject({
      error: { type: "agent_execution_timeout", cause: "agent" },
      teardown: { kept: [{ id: id.slice(0, 12), enter: contains("docker start") }] },
    });
    expect(await room.read(`${trialDir}/command/stdout.txt`)).toBe("begun\n");
    const collected = await room.read(`${trialDir}/logs/agent/tick`);
    // A tar archive, which has the text as it is.
    const path = `/containers/${id}/archive`;
    const query = { path: "/logs/agent/tick" };
    expect(await room.engine.client.text({ method: "GET", path, query, signal: never })).toContain(collected);
    await room.removeContainer(id);
    expect(await room.containersOf(running.pid)).toEqual([]);
  });
});

describe("while the tests run:", () => {
  test("tests that end with a code of their own have failed", async (context) => {
    const test = "echo no compiler; echo 1 > /logs/verifier/reward.txt; exit 3";
    const { room, result } = await failOne(context, { ...plainTask, test });
    expect(result.error).toMatchObject({
      type: "verifier_failed",
      message: contains("exited with code 3"),
      cause: "task",
    });
    expect(result.error?.message).toContain("no compiler");
    expect(await room.read("jobs/job/oracle/tasks/a__1/logs/verifier/reward.txt")).toBe("1\n");
  });

  test("tests that the memory limit kills have failed", async (context) => {
    const { result } = await failOne(context, {
      ...plainTask,
      test: "exec dd if=/dev/zero of=/dev/null bs=900M count=1",
    });
    expect(result.error).toMatchObject({ type: "verifier_failed", message: contains("memory limit of 256Mi") });
  });

  test("tests that take too long are cut, and what they wrote is kept", async (context) => {
    const toml = `[verifier]\ntimeout_sec = 2\n[environment]\n${image}\n`;
    const test = "echo 1 > /logs/verifier/reward.txt; echo begun; sleep 600";
    const { room, result } = await failOne(context, withToml(toml, { test }));
    expect(result.error).toMatchObject({ type: "verifier_timeout", cause: "task" });
    expect(await room.read("jobs/job/oracle/tasks/a__1/logs/verifier/stdout.txt")).toBe("begun\n");
  });

  test("tests that write no reward, or none that is a number, are told apart", async (context) => {
    const room = await makeDockerRoom(context);
    await room.writeDockerJob({
      none: { ...plainTask, test: "true" },
      words: { ...plainTask, test: "echo passed > /logs/verifier/reward.txt" },
      nan: { ...plainTask, test: "echo nan > /logs/verifier/reward.txt" },
      link: { ...plainTask, test: "echo 1 > /tmp/r; ln -s /tmp/r /logs/verifier/reward.txt" },
    });
    expect(await room.runJob()).toMatchObject({ code: 3 });
    expect((await room.jobResult()).results.map((row) => [row.task_name, row.reward, row.error_type])).toEqual([
      ["link", null, "verifier_reward_invalid"],
      ["nan", null, "verifier_reward_invalid"],
      ["none", null, "verifier_reward_missing"],
      ["words", null, "verifier_reward_invalid"],
    ]);
    expect((await room.trial("oracle/tasks/words__1")).error?.message).toContain("passed");
  });
});

describe("what comes from outside:", () => {
  test.for([
    ["SIGINT", 130],
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
  ] as const)("%s cancels the trial, keeps its logs and leaves no container", async ([signal, exitCode], context) => {
    const room = await makeDockerRoom(context);
    const execute = "echo so far > /logs/agent/notes; echo begun; sleep 600";
    await room.writeDockerJob({ a: plainTask, b: plainTask }, { ...scripted(execute), n_concurrent_trials: 1 });
    const running = room.startJob();
    await running.until("the agent has begun", async () =>
      (await room.read(`${trialDir}/command/stdout.txt`).catch(() => "")).includes("begun"),
    );
    expect(await room.containersOf(running.pid)).toHaveLength(1);
    running.kill(signal);
    expect(await running.ended).toMatchObject({ code: exitCode });
    expect((await room.trial("agent/tasks/a__1")).error).toMatchObject({ type: "trial_cancelled", cause: "cancelled" });
    expect(await room.jobResult()).toMatchObject({ cancelled: true, failed_trials: 1, skipped_trials: 1 });
    expect(await room.read(`${trialDir}/logs/agent/notes`)).toBe("so far\n");
    expect(await room.containersOf(running.pid)).toEqual([]);
  });

  test("a task whose repository is not there is not found, and costs its neighbours nothing", async (context) => {
    const room = await makeDockerRoom(context);
    const tasks = [{ name: "x", git_url: `file://${room.path("no-repository")}`, path: "x" }];
    await room.write("registry.json", JSON.stringify([{ name: "set", tasks }]));
    const datasets = [{ registry: { path: "." }, name: "set" }, { path: "./tasks" }];
    await room.writeDockerJob({ a: plainTask }, { datasets });
    const running = room.startJob();
    const { code, stderr } = await running.ended;
    expect(code, stderr).toBe(3);
    expect(await room.trial("oracle/set/x__1")).toMatchObject({
      reward: null,
      environment: null,
      error: { type: "task_not_found", message: contains("no-repository") },
    });
    expect(await room.trial("oracle/tasks/a__1")).toMatchObject({ reward: 1, error: null });
    expect(await room.containersOf(running.pid)).toEqual([]);
  });

  test("a bug of ours is recorded with its stack, and its container is removed", async (context) => {
    const environment = { type: join(import.meta.dirname, "buggy-docker-provider.ts") };
    const { room, result } = await failOne(context, plainTask, { environment });
    expect(result.error).toMatchObject({ type: "internal_error", cause: "rollout", message: contains("has no end") });
    const stack = await room.read("jobs/job/oracle/tasks/a__1/error.txt");
    expect(stack).toContain("TypeError: the list has no end");
    expect(stack).toContain("buggy-docker-provider.ts");
  });

  test("what an agent is given stays out of what the engine shows of its container, and out of every file", async (context) => {
    const secret = "a-very-secret-token";
    const room = await makeDockerRoom(context, { TOKEN: secret });
    const execute = 'echo "has $API_KEY"; while [ ! -e /tmp/go ]; do sleep 0.1; done; mkdir -p /app; touch /app/done';
    await room.writeDockerJob({ a: plainTask }, scripted(execute, { env: { API_KEY: "${TOKEN}" } }));
    const running = room.startJob();
    await running.until("the agent has begun", async () =>
      (await room.read(`${trialDir}/command/stdout.txt`).catch(() => "")).includes("has"),
    );
    const [id = ""] = await room.containersOf(running.pid);
    const { client } = room.engine;
    const shown = await client.text({ method: "GET", path: `/containers/${id}/json`, signal: never });
    expect(shown).toContain(base);
    expect(shown).not.toContain(secret);
    const { ExecIDs } = JSON.parse(shown) as { ExecIDs: string[] | null };
    for (const exec of ExecIDs ?? [])
      expect(await client.text({ method: "GET", path: `/exec/${exec}/json`, signal: never })).not.toContain(secret);
    await room.runInContainer(id, "touch", "/tmp/go");
    const { code, stdout, stderr } = await running.ended;
    expect(code, stderr).toBe(0);
    expect(await room.read(`${trialDir}/command/stdout.txt`)).toBe("has [redacted:TOKEN]\n");
    const texts = await Promise.all((await room.files("jobs")).map((file) => room.read(`jobs/${file}`)));
    for (const text of [stdout, stderr, ...texts]) expect(text).not.toContain(secret);
  });
});
