import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { PreparedJob } from "./prepare-job.ts";
import { onlyTrial, runJobOnRig, startJob, type RigOptions } from "./testing/job-rig.ts";
import { makeRoot, writeTask } from "./testing/temp-files.ts";

// Prepares a job, and runs it too, because a rig cannot do the one without the other.
async function prepare(options: RigOptions): Promise<PreparedJob & { planned: string[] }> {
  let prepared: PreparedJob | undefined;
  await runJobOnRig({ ...options, onPrepared: (job) => (prepared = job) });
  if (!prepared) throw new Error("nothing was prepared");
  return { ...prepared, planned: prepared.trials.map((trial) => trial.key) };
}

describe("tasks", () => {
  test("R9: source and metadata of the task are recorded under task", async () => {
    const toml = 'source = "somewhere"\n[metadata]\ndifficulty = "easy"\ntags = ["a", "b"]\nborn = 2024-05-01\n';
    const job = await runJobOnRig({ tasks: { one: { toml } } });
    expect(job.trial(onlyTrial).task).toEqual({
      source: "somewhere",
      metadata: { difficulty: "easy", tags: ["a", "b"], born: "2024-05-01" },
      dataset_version: null,
    });
  });

  test("R10: a broken task fails its own trials and never its siblings", async () => {
    const created: string[] = [];
    const tasks = { bad: { toml: "not toml [" }, empty: { files: { "tests/test.sh": null } }, good: {} };
    const prepared = await prepare({
      tasks,
      config: { n_attempts: 2 },
      faults: ({ operation, labels }) =>
        void (operation === "create" && created.push(labels["rollout.trial-key"] ?? "")),
    });
    expect(prepared.taskProblems.map(({ message }) => message)).toEqual([
      expect.stringContaining("is not valid TOML"),
      "does not exist",
    ]);
    expect(created.sort()).toEqual(["a/set/good__1", "a/set/good__2"]);
    const job = await runJobOnRig({ tasks, config: { n_attempts: 2 } });
    for (const key of ["a/set/bad__2", "a/set/empty__1"]) {
      expect(job.trial(key)).toMatchObject({ reward: null, tries: 1, error: { type: "task_invalid" }, teardown: null });
      expect(job.text(`${key}/error.txt`)).toMatch(/^task_invalid\n/);
    }
    expect(job.result).toMatchObject({ completed_trials: 2, failed_trials: 4, errors: { task_invalid: 4 } });
  });

  test("R10: a task that cannot be found is task_not_found and does not keep the others from running", async () => {
    const root = makeRoot();
    const registry = [
      { name: "r", version: "1", tasks: [{ name: "x", git_url: `file://${root}/no-repository`, path: "." }] },
    ];
    writeFileSync(join(root, "registry.json"), JSON.stringify(registry));
    const config = { datasets: [{ registry: { path: "registry.json" }, name: "r" }, { path: "set" }] };
    const job = await runJobOnRig({ root, config });
    expect(job.trial("a/r/x__1")).toMatchObject({
      reward: null,
      error: { type: "task_not_found" },
      task_git_commit_id: null,
    });
    expect(job.trial(onlyTrial).reward).toBe(1);
  });

  test("R10: directories without a task.toml are not tasks, and a dataset without a task is a configuration error", async () => {
    const root = makeRoot();
    mkdirSync(join(root, "set", "notes"), { recursive: true });
    expect((await prepare({ root, tasks: { one: {} } })).planned).toEqual([onlyTrial]);
    rmSync(join(root, "set", "one"), { recursive: true });
    const run = runJobOnRig({ root, datasets: { set: {} }, config: { name: "second" } });
    await expect(run).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("holds no task"),
    });
    expect(existsSync(join(root, "jobs", "second"))).toBe(false);
  });

  test("R11: a task that the environment cannot make is invalid, and nothing is started for it", async () => {
    const operations = new Set<string>();
    const job = await runJobOnRig({
      config: { environment: { type: "memory", force_build: true } },
      tasks: { one: {}, two: { files: { "environment/Dockerfile": "FROM x\n" } } },
      faults: ({ operation, labels }) => void operations.add(`${operation} ${labels["rollout.trial-key"] ?? ""}`),
    });
    expect(job.trial(onlyTrial).error).toMatchObject({
      type: "task_invalid",
      message: expect.stringContaining("force_build"),
    });
    expect(job.trial("a/set/two__1").reward).toBe(1);
    expect([...operations].filter((operation) => operation.endsWith(onlyTrial))).toEqual([]);
  });

  test("R13: a task of a registry is known by the registry's name and version", async () => {
    const root = makeRoot();
    const entry = { name: "bench", version: "2.0", tasks: [{ name: "x", git_url: `file://${root}/none`, path: "x" }] };
    writeFileSync(join(root, "registry.json"), JSON.stringify({ datasets: [entry] }));
    const config = { datasets: [{ registry: { path: "." }, name: "bench" }] };
    const job = await runJobOnRig({ root, datasets: {}, config });
    expect(job.trial("a/bench/x__1")).toMatchObject({ dataset_name: "bench", task: { dataset_version: "2.0" } });
  });
});

describe("what an environment can do", () => {
  const network = (agent: unknown, verifier: unknown) => ({
    environment: { type: "memory", network: { agent, verifier } },
  });

  test("R29: each phase has its own policy, and a verifier with full network gets it back after an agent without", async () => {
    const seen: unknown[] = [];
    const options: RigOptions = {
      capabilities: { network: ["none", "allow"] },
      onCall: (call) => void seen.push(call.network),
    };
    const agents = [{ name: "a", install: "i", execute: "e" }];
    await runJobOnRig({ ...options, config: { ...network("none", "full"), agents } });
    expect(seen.splice(0)).toEqual(["none", "none", "full"]);
    await runJobOnRig({ ...options, config: { ...network("full", { allow: ["example.org"] }), agents } });
    expect(seen.splice(0)).toEqual(["full", "full", { allow: ["example.org"] }]);
    await runJobOnRig({
      ...options,
      config: { ...network("none", "full"), agents, verifier: { environment: "separate" } },
    });
    expect(seen.splice(0)).toEqual(["none", "none", "full"]);
  });

  test("R29: the default asks nothing of the provider", async () => {
    const operations: string[] = [];
    await runJobOnRig({ faults: ({ operation }) => void operations.push(operation) });
    expect(operations).not.toContain("network");
  });

  test("R30: a limit of processes that the provider cannot keep is an error before the first environment", async () => {
    const job = startJob({ config: { environment: { type: "memory", pids_limit: 64 } } });
    await expect(job.finished).rejects.toMatchObject({
      code: "config_invalid",
      problems: [
        {
          path: "environment.pids_limit",
          message: 'environment "memory" cannot limit the number of processes; leave pids_limit out',
        },
      ],
    });
  });

  test("R30: a policy that the provider cannot enforce is an error before the first environment, for both phases at once", async () => {
    const operations: string[] = [];
    const job = startJob({
      config: network("none", { allow: ["x.org"] }),
      faults: ({ operation }) => void operations.push(operation),
    });
    await expect(job.finished).rejects.toMatchObject({
      code: "config_invalid",
      problems: [
        { path: "environment.network.agent", message: 'environment "memory" cannot enforce "none"; it can: full' },
        { path: "environment.network.verifier", message: 'environment "memory" cannot enforce "allow"; it can: full' },
      ],
    });
    expect(operations).toEqual([]);
    expect(existsSync(job.jobDir)).toBe(false);
  });

  test("R30: limits that were asked for and are not kept are one warning each, for all tasks together", async () => {
    const toml = '[environment]\nmemory = "4G"\nstorage = "20G"\n';
    const { warnings } = await prepare({
      tasks: { one: { toml }, two: { toml } },
      capabilities: { limits: { cpus: "none", memory: "advisory", storage: "none" } },
    });
    expect(warnings).toEqual([
      "this environment limits memory only as advice",
      "this environment does not limit storage; the values asked for have no effect",
    ]);
  });

  test("R30: limits that nobody asked for, or that are kept, are not worth a word", async () => {
    expect((await prepare({})).warnings).toEqual([]);
    const environment = { type: "memory", override_cpus: 2 };
    const limits = { cpus: "enforced", memory: "none", storage: "none" } as const;
    expect((await prepare({ config: { environment }, capabilities: { limits } })).warnings).toEqual([]);
    expect((await prepare({ config: { environment } })).warnings).toEqual([
      expect.stringContaining("does not limit cpus"),
    ]);
  });

  test("R22: the provider is told the multiplier for limits of its own", async () => {
    let told: number | undefined;
    await runJobOnRig({
      config: { timeout_multiplier: 2.5 },
      onOpen: ({ timeoutMultiplier }) => (told = timeoutMultiplier),
    });
    expect(told).toBe(2.5);
  });

  test("R7: an unknown key of task.toml is warned about once per job", async () => {
    const toml = "[agent]\ntimeout_secs = 5\n";
    const job = await runJobOnRig({ tasks: { one: { toml }, two: { toml } } });
    expect(job.result.warnings).toEqual([
      expect.stringMatching(/agent\.timeout_secs: .*did you mean.* \(tasks one, two\)$/),
    ]);
    expect(job.events.filter((event) => event.type === "warning")).toHaveLength(1);
  });

  test("R40: a task that restricts the network is invalid unless the job sets a policy", async () => {
    const tasks = { closed: { toml: "[environment]\nallow_internet = false\n" }, open: {} };
    const without = await runJobOnRig({ tasks });
    expect(without.result.errors).toEqual({ task_invalid: 1 });
    expect(without.trial("a/set/closed__1").error?.message).toBe(
      "task.toml environment.allow_internet = false restricts the network of the agent; set environment.network.agent in the job to choose a policy",
    );
    const network = { agent: "full", verifier: "full" };
    const withPolicy = await runJobOnRig({ tasks, config: { environment: { network } } });
    expect(withPolicy.result.errors).toEqual({});
    const half = await runJobOnRig({ tasks, config: { environment: { network: { agent: "full" } } } });
    expect(half.trial("a/set/closed__1").error?.message).toContain("network.verifier");
  });

  test("R40: solution.env makes the oracle's trials invalid, and no others", async () => {
    const tasks = { one: { toml: '[solution.env]\nKEY = "x"\n' } };
    const config = { agents: [{ name: "oracle" }, { name: "nop" }] };
    const { result } = await runJobOnRig({ tasks, config });
    expect(result.results.map((trial) => [trial.agent_name, trial.error_type])).toEqual([
      ["oracle", "task_invalid"],
      ["nop", null],
    ]);
  });
});

describe("selection", () => {
  const datasets = { x: { t1: {}, t2: {}, t3: {} }, y: { t1: {}, u1: {} } };
  const config = { n_attempts: 2, agents: [{ name: "a", execute: "e" }, { name: "nop" }] };
  const tasksOf = async (selection: RigOptions["selection"]): Promise<string[]> => {
    const { planned } = await prepare({ datasets, config, ...(selection && { selection }) });
    expect(planned.length % 4).toBe(0);
    return planned.filter((key) => key.startsWith("a/") && key.endsWith("__1")).map((key) => key.slice(2, -3));
  };

  test("R35: names and globs are over the tasks of the whole job; agents and attempts do not count", async () => {
    expect(await tasksOf({})).toEqual(["x/t1", "x/t2", "x/t3", "y/t1", "y/u1"]);
    expect(await tasksOf({ include: ["t1"] })).toEqual(["x/t1", "y/t1"]);
    expect(await tasksOf({ include: ["t*"], exclude: ["x/t2", "y/*"] })).toEqual(["x/t1", "x/t3"]);
  });

  test("R35: limit comes after exclude, and sample after limit", async () => {
    expect(await tasksOf({ exclude: ["x/t1"], limit: 3 })).toEqual(["x/t2", "x/t3", "y/t1"]);
    const drawn = await tasksOf({ limit: 4, sample: 2, seed: 7 });
    expect(drawn).toHaveLength(2);
    expect(drawn).not.toContain("y/u1");
    expect(await tasksOf({ limit: 4, sample: 2, seed: 7 })).toEqual(drawn);
  });

  test("R35: task paths given without a dataset are of the dataset tasks, and two of one name are an error", async () => {
    const root = makeRoot();
    for (const path of ["p/one", "q/one", "q/two"]) writeTask(join(root, path));
    const paths = (...tasks: string[]) => ({ root, datasets: {}, config: { datasets: [{ tasks }] } });
    expect((await prepare(paths("p/one", "q/two"))).planned).toEqual(["a/tasks/one__1", "a/tasks/two__1"]);
    await expect(runJobOnRig(paths("p/one", "q/one"))).rejects.toMatchObject({ code: "config_invalid" });
  });

  test("R32: the plan is every agent, task and attempt, in that order", async () => {
    const { planned } = await prepare({ datasets: { x: { t1: {}, t2: {} } }, config });
    expect(planned).toEqual([
      "a/x/t1__1",
      "a/x/t1__2",
      "a/x/t2__1",
      "a/x/t2__2",
      "nop/x/t1__1",
      "nop/x/t1__2",
      "nop/x/t2__1",
      "nop/x/t2__2",
    ]);
  });
});
