import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { Problem } from "../../src/base/problem.ts";
import { git, makeRepository, taskFiles } from "../tasks/git-repository.ts";
import { agentOf, makeJobRoom, makeRoom } from "./rollout-cli.ts";

interface Verdict {
  readonly valid: boolean;
  readonly problems: readonly Problem[];
}

describe("validate", () => {
  test("finds nothing wrong with a job, a task and a dataset that are fine, and starts nothing", async () => {
    const room = await makeJobRoom();
    const { code, stdout, stderr } = await room.run(["validate", "job.yaml", "tasks/alpha", "tasks"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("job.yaml: 1 agent, 1 trial");
    expect(stdout).toContain("tasks/alpha: 1 task");
    expect(stdout).toContain("0 problems, 0 warnings");
    expect(existsSync(room.path("jobs"))).toBe(false);
  });

  test("tells every problem of a job with its place, on stdout", async () => {
    const room = await makeRoom();
    await room.write("job.yaml", "n_atempts: 1\nagents:\n  - name: a\ndatasets:\n  - path: ./none\n");
    const { code, stdout } = await room.run(["validate", "job.yaml"]);
    expect(code).toBe(2);
    expect(stdout).toMatch(/^job\.yaml:1:1 n_atempts: .*did you mean "n_attempts"\?$/m);
    expect(stdout).toMatch(/^job\.yaml:3:\d+ agents\[0\]\.execute: /m);
    expect(stdout).toMatch(/^job\.yaml:5:11 datasets\[0\]\.path: /m);
    expect(stdout).toContain("3 problems, 0 warnings");
  });

  test("looks at a job with the keys that --set puts over it, and at nothing else with them", async () => {
    const room = await makeJobRoom();
    const wrong = await room.run(["validate", "job.yaml", "--set", "n_concurrent_trials=0"]);
    expect(wrong.code).toBe(2);
    expect(wrong.stdout).toMatch(/--set n_concurrent_trials=0.*n_concurrent_trials/);
    expect((await room.run(["validate", "job.yaml", "--set", "n_attempts=3"])).stdout).toContain("1 agent, 3 trials");
    const task = await room.run(["validate", "tasks/alpha", "--set", "n_attempts=3"]);
    expect(task).toMatchObject({ code: 2, stdout: expect.stringContaining("--set puts keys over") });
  });

  test("gives the same as one JSON object", async () => {
    const room = await makeRoom();
    await room.write("job.yaml", "log_level: loud\nagents:\n  - name: oracle\ndatasets:\n  - path: ./none\n");
    const { code, stdout } = await room.run(["validate", "job.yaml", "--json"]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      schema_version: 1,
      valid: false,
      problems: [
        { file: "job.yaml", line: 1, column: 12, path: "log_level", message: expect.any(String), severity: "error" },
        {
          file: "job.yaml",
          line: 5,
          column: 11,
          path: "datasets[0].path",
          message: expect.any(String),
          severity: "error",
        },
      ],
    });
    const fine = await (await makeJobRoom()).run(["validate", "--json", "job.yaml"]);
    expect(JSON.parse(fine.stdout)).toEqual({ schema_version: 1, valid: true, problems: [] });
  });

  test("tells every problem of every task of a dataset, and of the job that uses it", async () => {
    const room = await makeJobRoom();
    await room.writeTask("tasks/late", {
      toml: 'version = "1.0"\n[agent]\ntimeout_sec = "soon"\n[verifier]\ntimeout_sec = -1\n',
    });
    await room.write("tasks/torn/task.toml", "version = \n");
    await room.write("tasks/torn/instruction.md", "x");
    for (const path of ["tasks", "job.yaml"]) {
      const { code, stdout } = await room.run(["validate", path]);
      expect(code).toBe(2);
      expect(stdout).toMatch(/^tasks\/late\/task\.toml:3:\d+ agent\.timeout_sec: /m);
      expect(stdout).toMatch(/^tasks\/late\/task\.toml:5:\d+ verifier\.timeout_sec: /m);
      expect(stdout).toMatch(/^tasks\/torn\/task\.toml:1:\d+ /m);
      expect(stdout).toMatch(/^tasks\/torn\/tests\/test\.sh /m);
    }
  });

  test("warns about keys it does not know in a task and about variables nobody gives, and calls it valid", async () => {
    const room = await makeJobRoom();
    await room.writeTask("tasks/odd", {
      toml: 'version = "1.0"\nspeed = 3\n[verifier.env]\nJUDGE_KEY = "${JUDGE_KEY}"\n',
    });
    for (const path of ["tasks/odd", "tasks", "job.yaml"]) {
      const { code, stdout } = await room.run(["validate", path]);
      expect(stdout).toMatch(/warning: .*speed/);
      expect(stdout).toMatch(/warning: .*JUDGE_KEY/);
      expect(stdout).toContain("0 problems");
      expect(code).toBe(0);
    }
    const given = await room.run(["validate", "tasks/odd"], { env: { JUDGE_KEY: "sesame" } });
    expect(given.stdout).not.toContain("JUDGE_KEY");
  });

  test("reads a registry, fetches its tasks and tells what is wrong with them", async () => {
    const room = await makeRoom();
    const { directory, commit } = await makeRepository({ ...taskFiles("good"), "bad/task.toml": "version = 1.0.0\n" });
    const git_url = `file://${directory}`;
    await room.write(
      "registry.json",
      JSON.stringify([
        {
          name: "set",
          version: "1",
          tasks: ["good", "bad", "missing"].map((name) => ({ name, git_url, git_commit_id: commit, path: name })),
        },
      ]),
    );
    const { code, stdout } = await room.run(["validate", "registry.json"]);
    expect(code).toBe(2);
    expect(stdout).toMatch(/bad\/task\.toml:1:\d+/);
    expect(stdout).toContain("missing");
    expect(stdout).not.toMatch(/good\S* /);
    expect(stdout).toContain("registry.json: a registry of 1 datasets");
  });

  test("tells the place of every problem in a registry itself", async () => {
    const room = await makeRoom();
    await room.write(
      "registry.json",
      '[\n  { "name": "set", "tasks": [{ "name": "x", "path": "x" }] },\n  { "tasks": [] }\n]\n',
    );
    const { code, stdout } = await room.run(["validate", "registry.json"]);
    expect(code).toBe(2);
    expect(stdout).toMatch(/^registry\.json:2:\d+ \[0\]\.tasks\[0\]\.git_url: /m);
    expect(stdout).toMatch(/^registry\.json:3:\d+ \[1\]\.name: /m);
  });

  test("says what is not there, and goes on with the rest", async () => {
    const room = await makeJobRoom();
    const { code, stdout } = await room.run(["validate", "nothing", "tasks/alpha"]);
    expect(code).toBe(2);
    expect(stdout).toContain("nothing does not exist");
    expect(stdout).toContain("tasks/alpha: 1 task");
  });
});

describe("plan", () => {
  test("names the directory that the results go to, and says when it is taken", async () => {
    const room = await makeJobRoom();
    expect((await room.run(["plan", "job.yaml"])).stdout).toMatch(/^results {6}jobs\/job$/m);
    await room.write("jobs/job/x", "");
    expect((await room.run(["plan", "job.yaml"])).stdout).toMatch(
      /^results {6}jobs\/job, which is there already: --res/m,
    );
    const json = await room.run(["plan", "job.yaml", "--name", "other", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ job_dir: room.path("jobs/other") });
  });

  test("tells what a budget allows against what is known, for people and as JSON", async () => {
    const room = await makeJobRoom({ budget: { wall_sec: 1, tokens: 100 } });
    const { stdout } = await room.run(["plan", "job.yaml"]);
    expect(stdout).toMatch(
      /budget for 1 trial, 4 at once:\n {2}wall_sec 1: the deadlines allow \d+ without retries; all trials start at once and may finish, so it ends none of them\n {2}tokens 100: unknown: what agents use/,
    );
    const { budget } = JSON.parse((await room.run(["plan", "job.yaml", "--json"])).stdout) as { budget: unknown };
    expect(budget).toEqual([
      { name: "wall_sec", limit: 1, spent: 0, at_most: expect.any(Number), unknown: [] },
      { name: "tokens", limit: 100, spent: 0, at_most: null, unknown: ["what agents use"] },
    ]);
    const events = (await room.run(["job.yaml", "--json=events"])).stdout.split("\n");
    expect(JSON.parse(events[0] ?? "")).toMatchObject({
      type: "run_started",
      run: { plan: { budget: [{ at_most: expect.any(Number) }, {}] } },
    });
  });

  test("counts trials, containers and images, and starts nothing", async () => {
    const room = await makeJobRoom(
      { agents: [{ name: "oracle" }, { name: "nop" }], n_attempts: 3, n_concurrent_trials: 5 },
      ["a", "b"],
    );
    await room.writeTask("tasks/pulled", {
      toml: 'version = "1.0"\nsource = "a book"\n[metadata]\ncategory = "files"\ntags = ["x", "y"]\n[environment]\ndocker_image = "org/image:1"\n',
      solution: null,
    });
    const { code, stdout } = await room.run(["plan", "job.yaml", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      schema_version: 1,
      environment: "memory",
      trials: 18,
      startable: 15,
      agents: ["oracle", "nop"],
      attempts: 3,
      concurrency: 5,
      containers: { total: 15, at_once: 5 },
      images: { build: [expect.stringMatching(/tasks\/[ab]\/environment$/)], pull: ["org/image:1"] },
      tasks: [
        { dataset: "tasks", task: "a", refused: {} },
        { dataset: "tasks", task: "b", refused: {} },
        {
          task: "pulled",
          source: "a book",
          category: "files",
          tags: ["x", "y"],
          refused: { oracle: expect.stringContaining("solve.sh") },
        },
      ],
    });
    expect(existsSync(room.path("jobs"))).toBe(false);
  });

  test("says the same to a person", async () => {
    const room = await makeJobRoom({ agents: [{ name: "oracle" }, { name: "nop" }], n_attempts: 2 });
    await room.writeTask("tasks/unsolved", { solution: null });
    const { code, stdout } = await room.run(["plan", "job.yaml"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^8 trials = 2 agents x 2 tasks x 2 attempts, 4 at once$/m);
    expect(stdout).toMatch(/memory: 6 environments in all, at most 4 at once/);
    expect(stdout).toMatch(/oracle .*unsolved.*solve\.sh/);
  });

  test("counts two containers for a trial whose verifier has one of its own", async () => {
    const room = await makeJobRoom({}, ["a"]);
    await room.writeTask("tasks/apart", { toml: 'version = "1.0"\n[verifier]\nenvironment = "separate"\n' });
    const count = async (...options: string[]): Promise<unknown> => {
      const { stdout } = await room.run(["plan", "job.yaml", "--json", ...options]);
      return (JSON.parse(stdout) as { containers: unknown }).containers;
    };
    expect(await count()).toMatchObject({ total: 3 });
    expect(await count("--set", "verifier.environment=separate")).toMatchObject({ total: 4 });
    expect(await count("--set", "verifier.environment=separate", "--concurrency", "1")).toEqual({
      total: 4,
      at_once: 2,
    });
    expect(await count("--set", "verifier.environment=shared")).toMatchObject({ total: 2 });
    expect(await count("--set", "verifier.disable=true")).toMatchObject({ total: 2 });
  });

  test("of a job with mistakes ends with 2 and an empty stdout", async () => {
    const room = await makeJobRoom({ n_attempts: 0 });
    expect(await room.run(["plan", "job.yaml", "--json"])).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("init", () => {
  test("writes a job and a task that are valid", async () => {
    const room = await makeRoom();
    expect(await room.run(["init", "job"])).toMatchObject({ code: 0, stderr: "" });
    expect(await room.run(["init", "task", "tasks/my-task"])).toMatchObject({ code: 0, stderr: "" });
    expect(await room.files("tasks/my-task")).toEqual([
      "environment/Dockerfile",
      "instruction.md",
      "solution/solve.sh",
      "task.toml",
      "tests/test.sh",
    ]);
    const task = await room.run(["validate", "tasks/my-task"]);
    expect(task.stdout).toContain("0 problems, 0 warnings");
    const job = JSON.parse((await room.run(["validate", "job.yaml", "--json"])).stdout) as Verdict;
    expect(job.problems.filter((problem) => problem.severity === "error")).toEqual([]);
  });

  test.each(["docker", "local"])("writes a task that asks for nothing that %s would warn about", async (type) => {
    const room = await makeRoom();
    await room.run(["init", "task", "my-task"]);
    await room.write(
      "job.yaml",
      `environment: { type: ${type} }\nagents: [{ name: nop }]\ndatasets: [{ tasks: [my-task] }]\n`,
    );
    const { code, stdout, stderr } = await room.run(["plan", "job.yaml"]);
    expect(code, stderr).toBe(0);
    expect(`${stdout}${stderr}`).not.toMatch(/limit|storage|memory/);
  });

  test("points editors to a schema that is there", async () => {
    const room = await makeRoom();
    await room.run(["init", "job", "deep/nightly.yaml"]);
    await room.run(["init", "task", "my-task"]);
    const lines = {
      deep: /^# yaml-language-server: \$schema=(.+job\.schema\.json)$/m.exec(await room.read("deep/nightly.yaml")),
      "my-task": /^#:schema (.+task\.schema\.json)$/m.exec(await room.read("my-task/task.toml")),
    };
    for (const [from, line] of Object.entries(lines)) {
      const schema = line?.[1] ?? "";
      expect(existsSync(isAbsolute(schema) ? schema : resolve(room.path(from), schema))).toBe(true);
    }
  });

  test("writes a task that its own solution passes and nothing does not, by its own scripts", async () => {
    const room = await makeRoom();
    await room.run(["init", "task", "my-task"]);
    const judge = async (): Promise<string> => {
      // The scripts name absolute paths of the container; here they stand below the room.
      const script = (await room.read("my-task/tests/test.sh")).replaceAll(/\/(app|logs)\//g, `${room.dir}/$1/`);
      await room.write("logs/verifier/reward.txt", "");
      expect(await room.run([], { command: ["bash", "-c", script] })).toMatchObject({ code: 0 });
      return room.read("logs/verifier/reward.txt");
    };
    expect(await judge()).toBe("0\n");
    await room.write("app/.keep", "");
    const solution = (await room.read("my-task/solution/solve.sh")).replaceAll("/app/", `${room.dir}/app/`);
    expect(await room.run([], { command: ["bash", "-c", solution] })).toMatchObject({ code: 0 });
    expect(await judge()).toBe("1\n");
  });

  test("never overwrites", async () => {
    const room = await makeRoom();
    await room.write("job.yaml", "mine");
    await room.write("mine/task.toml", "mine");
    for (const args of [
      ["init", "job"],
      ["init", "task", "mine"],
    ]) {
      const { code, stderr } = await room.run(args);
      expect(code).toBe(2);
      expect(stderr).toContain("already exists");
    }
    expect(await room.read("job.yaml")).toBe("mine");
    expect(await room.read("mine/task.toml")).toBe("mine");
    expect(await room.files("mine")).toEqual(["task.toml"]);
  });
});

describe("the cache of tasks from git", () => {
  test("is filled by a job, listed with its size, used again, and emptied", async () => {
    const room = await makeRoom();
    const files = { "tasks/one/tests/test.sh": "reward 1\n", "tasks/one/solution/solve.sh": "echo x\n" };
    const { directory, commit } = await makeRepository({ ...taskFiles("tasks/one"), ...files });
    const url = `file://${directory}`;
    await room.write(
      "registry.json",
      JSON.stringify([
        {
          name: "set",
          version: "2.0",
          tasks: [{ name: "one", git_url: url, git_commit_id: commit, path: "tasks/one" }],
        },
      ]),
    );
    const datasets = [{ registry: { path: "./registry.json" }, name: "set" }];
    await room.writeJob({ ...agentOf("echo hi"), datasets });

    const empty = await room.run(["cache", "list"]);
    expect(empty.stdout).toContain("nothing is cached");
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 0 });
    expect(await room.readJson("jobs/job/agent/set/one__1/result.json")).toMatchObject({
      task_git_commit_id: commit,
      dataset_name: "set",
      reward: 1,
      task: { dataset_version: "2.0" },
    });

    const listed = JSON.parse((await room.run(["cache", "list", "--json"])).stdout) as Record<string, unknown>;
    expect(listed).toEqual({
      schema_version: 1,
      directory: room.path("home/cache/rollout/git"),
      commits: [{ url, commit, paths: ["tasks/one"], bytes: expect.any(Number), last_used_at: expect.any(String) }],
    });
    expect((await room.run(["cache", "list"])).stdout).toContain(`${url} ${commit.slice(0, 12)}: 1 task`);

    // Without the repository only the cache can answer.
    await git(directory, "checkout", "--quiet", "--orphan", "gone");
    await room.run([], { command: ["rm", "-rf", directory] });
    expect(await room.run(["job.yaml", "--name", "again"])).toMatchObject({ code: 0 });

    expect(await room.run(["cache", "clean", "--older-than", "1"])).toMatchObject({ code: 0 });
    expect((await room.run(["cache", "list"])).stdout).toContain(commit.slice(0, 12));
    const cleaned = await room.run(["cache", "clean"]);
    expect(cleaned.stdout).toMatch(/^freed \d+\.\d MB/);
    expect((await room.run(["cache", "list"])).stdout).toContain("nothing is cached");
    expect(await room.run(["job.yaml", "--name", "third"])).toMatchObject({ code: 3 });
  });

  test("is not cleaned by an age that is none", async () => {
    const { code, stderr } = await (await makeRoom()).run(["cache", "clean", "--older-than", "soon"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--older-than");
  });
});
