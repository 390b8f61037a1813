import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import { agentOf, command, makeJobRoom, makeRoom, scriptedEnvironment } from "./rollout-cli.ts";

describe("a job that ran", () => {
  test("exits with 0 when every trial has its reward, whatever the reward is", async () => {
    const room = await makeJobRoom();
    await room.writeTask("tasks/hard", { test: "reward 0" });
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 0 });
    const result = await room.readJson<JobResultFile>("jobs/job/result.json");
    expect(result).toMatchObject({
      completed_trials: 2,
      failed_trials: 0,
      pass_rate: 0.5,
      ended_at: expect.anything(),
    });
  });

  test("exits with 0 when its verifier is disabled and its agents ended well", async () => {
    const room = await makeJobRoom({ verifier: { disable: true } });
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 0 });
    const result = await room.readJson<JobResultFile>("jobs/job/result.json");
    expect(result).toMatchObject({ completed_trials: 1, pass_rate: null, mean_reward: null });
  });

  test("exits with 3 when a trial has no reward, and its siblings keep theirs", async () => {
    const room = await makeJobRoom();
    await room.writeTask("tasks/odd", { test: "exit 7" });
    const { code, stdout } = await room.run(["job.yaml"]);
    expect(code).toBe(3);
    expect(stdout).toContain("verifier_failed");
    const result = await room.readJson<JobResultFile>("jobs/job/result.json");
    expect(result).toMatchObject({ completed_trials: 1, failed_trials: 1, errors: { verifier_failed: 1 } });
  });

  test("exits with 3 when a task is broken, names its problem before the first trial and runs its siblings", async () => {
    const room = await makeJobRoom();
    await room.writeTask("tasks/broken", { toml: 'version = "1.0"\n[agent]\ntimeout_sec = "soon"\n' });
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/tasks\/broken\/task\.toml:3:\d+ agent\.timeout_sec: /);
    expect(stderr.indexOf("timeout_sec")).toBeLessThan(stderr.indexOf("[1/2]"));
    const result = await room.readJson<JobResultFile>("jobs/job/result.json");
    expect(result).toMatchObject({ completed_trials: 1, errors: { task_invalid: 1 } });
  });

  test("exits with 4 when its budget is spent, and lists what it did not run", async () => {
    const room = await makeJobRoom(
      {
        ...agentOf('write /logs/agent/usage.json {"cost_usd": 2, "input_tokens": 5, "output_tokens": 5}'),
        budget: { cost_usd: 3 },
        n_concurrent_trials: 1,
      },
      ["a", "b", "c"],
    );
    const { code, stdout, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(4);
    expect(stdout + stderr).toContain("budget.cost_usd");
    expect(stderr).toMatch(
      /^budget for 3 trials, 1 at once:\n {2}cost_usd 3: environments cost at most 0 by their deadlines; unknown: what agents spend;/,
    );
    const result = await room.readJson<JobResultFile>("jobs/job/result.json");
    expect(result).toMatchObject({ completed_trials: 2, skipped_trials: 1, stopped_by_budget: true, cancelled: false });
    expect(result.skipped).toEqual([{ agent_name: "agent", dataset_name: "tasks", task_name: "c", attempt: 1 }]);
    const more = "rollout resume jobs/job --set budget.cost_usd=7.2";
    expect(stdout).toContain(`next     ${more}`);
    expect((await room.run(["show", "jobs/job"])).stdout).toContain(`next     ${more}`);
    const quiet = await room.run(["job.yaml", "-q", "--name", "quiet"]);
    expect(quiet.code).toBe(4);
    expect(quiet.stderr).toMatch(
      /^rollout: budget\.cost_usd: 4 of 3 is spent; 1 of 3 .*\nrollout: go on with: rollout resume jobs\/quiet --set budget\.cost_usd=7\.2\n$/,
    );
    const spent = await room.run(["resume", "jobs/job"]);
    expect(spent.code).toBe(4);
    expect(spent.stderr).toContain("4 is spent already, so no trial starts");
    expect(spent.stderr).toContain(more);
    expect((await room.run(more.split(" ").slice(1))).code).toBe(0);
  });
});

const base = `environment: { type: memory, provider_config: { handler: ${scriptedEnvironment.provider_config.handler} } }
agents: [{ name: oracle }]
datasets: [{ path: ./tasks }]
`;

/** A job file with one thing wrong, and what must be said about it. */
const mistakes: readonly {
  readonly title: string;
  readonly yaml: string;
  readonly says: readonly (string | RegExp)[];
}[] = [
  {
    title: "an unknown key, with the key that was meant",
    yaml: `${base}n_atempts: 3\n`,
    says: ["job.yaml:4:1 n_atempts: ", 'did you mean "n_attempts"?'],
  },
  {
    title: "an unknown key inside an agent",
    yaml: base.replace("{ name: oracle }", "{ name: mine, exceute: echo hi }"),
    says: [/job\.yaml:2:\d+ agents\[0\]\.exceute: .*did you mean "execute"\?/],
  },
  {
    title: "a value of the wrong type",
    yaml: `${base}n_attempts: many\n`,
    says: [/job\.yaml:4:13 n_attempts: .*number/],
  },
  {
    title: "a word that is none of the known ones",
    yaml: `${base}log_level: loud\n`,
    says: [/job\.yaml:4:12 log_level: .*debug.*info.*warn.*error/],
  },
  {
    title: "a quantity that is none",
    yaml: `${base}output_limit: 12 parsecs\n`,
    says: [/job\.yaml:4:15 output_limit: .*quantity/],
  },
  {
    title: "two agents of one name",
    yaml: base.replace("[{ name: oracle }]", "[{ name: a, execute: x }, { name: a, execute: y }]"),
    says: [/job\.yaml:2:\d+ agents\[1\]\.name: .*"a"/],
  },
  {
    title: "two datasets of one name",
    yaml: base.replace("[{ path: ./tasks }]", "[{ path: ./tasks }, { path: ./more/tasks }]"),
    says: [/job\.yaml:3:\d+ datasets\[1\]\S*: .*"tasks"/],
  },
  {
    title: "an agent without an execute script",
    yaml: base.replace("oracle", "mine"),
    says: [/job\.yaml:2:\d+ agents\[0\]\.execute: .*script/],
  },
  {
    title: "a script for a built-in agent",
    yaml: base.replace("name: oracle", "name: oracle, execute: echo hi"),
    says: [/agents\[0\]\.execute: .*built-in/],
  },
  {
    title: "no agents",
    yaml: base.replace("agents: [{ name: oracle }]\n", ""),
    says: [/job\.yaml:\d+:\d+ agents: /],
  },
  {
    title: "an empty list of agents",
    yaml: base.replace("[{ name: oracle }]", "[]"),
    says: ["agents: needs at least one agent"],
  },
  {
    title: "no datasets",
    yaml: base.replace("datasets: [{ path: ./tasks }]\n", ""),
    says: [/job\.yaml:\d+:\d+ datasets: /],
  },
  {
    title: "a dataset that is not there",
    yaml: base.replace("./tasks", "./taskz"),
    says: [/job\.yaml:3:20 datasets\[0\]\.path: .*\/taskz does not exist/],
  },
  {
    title: "variables that are not set, every one of them",
    yaml: base.replace(
      "{ name: oracle }",
      '{ name: a, execute: x, env: { A: "${NOT_SET}", B: "${NOT_SET_EITHER}", C: "${SET:-no}" } }',
    ),
    says: [/agents\[0\]\.env\.A: \$\{NOT_SET\} is not set/, /agents\[0\]\.env\.B: \$\{NOT_SET_EITHER\} is not set/],
  },
  {
    title: "an environment type that nobody knows",
    yaml: base.replace("type: memory", "type: dcoker"),
    says: ["job.yaml:1:22 environment.type: ", 'unknown environment type "dcoker"', "memory"],
  },
  {
    title: "a provider_config that the environment does not take",
    yaml: base.replace("handler:", "handlre:"),
    says: [/job\.yaml:1:\d+ environment\.provider_config/],
  },
  {
    title: "a provider module that is not there",
    yaml: base.replace("type: memory", "type: ./no-such-provider.ts"),
    says: ["environment.type: ", "no-such-provider.ts"],
  },
  { title: "YAML that does not parse", yaml: `${base}name: "open\n`, says: [/job\.yaml:\d+:\d+ /] },
  { title: "a key that stands there twice", yaml: `${base}name: a\nname: b\n`, says: ["job.yaml:5:1 "] },
  { title: "a name that would hide the job directory", yaml: `${base}name: .hidden\n`, says: ["job.yaml:4:7 name: "] },
];

describe("a job file with a mistake ends with 2, makes no job directory and names", () => {
  for (const { title, yaml, says } of mistakes) {
    test(title, async () => {
      const room = await makeRoom();
      await room.writeTask("tasks/alpha");
      await room.writeTask("more/tasks/beta");
      await room.write("job.yaml", yaml);
      const { code, stdout, stderr } = await room.run(["job.yaml"]);
      for (const text of says) expect(stderr).toMatch(text);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).not.toContain("    at ");
      expect(existsSync(room.path("jobs"))).toBe(false);
    });
  }

  test("all its mistakes at once, in the order of the file", async () => {
    const room = await makeRoom();
    await room.write(
      "job.yaml",
      "n_atempts: 3\nlog_level: loud\nagents:\n  - name: mine\n    env:\n      KEY: ${NOT_SET}\ndatasets:\n  - path: ./taskz\n",
    );
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(2);
    const lines = stderr.split("\n").filter((line) => line.startsWith("job.yaml:"));
    expect(lines.map((line) => /^job\.yaml:\d+:\d+ (\S+):/.exec(line)?.[1])).toEqual([
      "n_atempts",
      "log_level",
      "agents[0].execute",
      "agents[0].env.KEY",
      "datasets[0].path",
    ]);
    expect(stderr).toContain("the job has 5 problems; nothing was started");
  });
});

describe("a command that cannot be carried out ends with 2:", () => {
  test("a job file that is not there, with how to make one", async () => {
    const { code, stderr } = await (await makeRoom()).run(["nothing.yaml"]);
    expect(code).toBe(2);
    expect(stderr).toContain("nothing.yaml does not exist");
    expect(stderr).toContain("rollout init job");
  });

  test("a directory instead of a job file", async () => {
    const room = await makeJobRoom();
    const { code, stderr } = await room.run(["run", "."]);
    expect(code).toBe(2);
    expect(stderr).toContain("is a directory, not a job file");
    expect(stderr).toContain("rollout job.yaml");
  });

  test("a directory of tasks instead of its tasks, with a command that works", async () => {
    const room = await makeRoom();
    for (const name of ["b", "a"]) await room.writeTask(`my tasks/${name}`);
    const refused = await room.run(["run", "--agent", "nop", "my tasks/"]);
    expect(refused.code).toBe(2);
    const advice = / name its tasks: rollout (.*)/.exec(refused.stderr)?.[1] ?? "";
    expect(advice).toBe("run --agent nop 'my tasks'/*");
    const shell = ["bash", "-c", `"$@" plan ${advice.replace("run ", "")}`, "bash", ...command];
    expect(await room.run([], { command: shell })).toMatchObject({ code: 0 });
    await room.write("my tasks/README.md", "");
    const mixed = await room.run(["run", "--agent", "nop", "my tasks"]);
    expect(mixed.stderr).toContain("run --agent nop 'my tasks/a' 'my tasks/b'\n");
  });

  test("a job name whose directory is there already, which stays as it is", async () => {
    const room = await makeJobRoom();
    await room.write("jobs/job/mine.txt", "mine");
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(2);
    expect(stderr).toContain("jobs/job already exists");
    expect(await room.files("jobs")).toEqual(["job/mine.txt"]);
  });

  test("a dataset without a single task", async () => {
    const room = await makeRoom();
    await room.write("tasks/readme.txt", "no task here");
    await room.writeJob();
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(2);
    expect(stderr).toContain("tasks");
    expect(existsSync(room.path("jobs"))).toBe(false);
  });
});
