import { describe, expect, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import { agentOf, makeJobRoom, makeRoom, type Room, scriptedEnvironment, scriptedShell } from "./rollout-cli.ts";

interface FinalObject {
  readonly job_dir: string;
  readonly exit_code: number;
  readonly result: JobResultFile;
}

async function runJson(room: Room, ...args: string[]): Promise<FinalObject> {
  const { stdout, stderr } = await room.run([...args, "--json"]);
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as FinalObject;
}

function trialsOf({ result }: FinalObject): string[] {
  return result.results.map((trial) => `${trial.agent_name}:${trial.task_name}:${trial.attempt}`);
}

/** Six tasks with tags and categories, and two agents. */
async function makeWideRoom(): Promise<Room> {
  const room = await makeRoom();
  const tasks = { "db-a": "db", "db-b": "db", "db-slow": "db", "ui-a": "ui", "ui-b": "ui", misc: "other" };
  for (const [name, category] of Object.entries(tasks)) {
    const tags = name.endsWith("-a") ? '["first", "all"]' : '["all"]';
    await room.writeTask(`tasks/${name}`, {
      toml: `version = "1.0"\n[metadata]\ncategory = "${category}"\ntags = ${tags}\n`,
    });
  }
  await room.writeJob({
    agents: [
      { name: "one", execute: "echo 1" },
      { name: "two", execute: "echo 2" },
    ],
  });
  return room;
}

const every = ["db-a", "db-b", "db-slow", "misc", "ui-a", "ui-b"];

describe("options choose what runs:", () => {
  const choices: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ["--task with a glob", ["--task", "db-*"], ["db-a", "db-b", "db-slow"]],
    ["--task more than once", ["--task", "db-a", "--task", "misc"], ["db-a", "misc"]],
    ["--task with the dataset's name", ["--task", "tasks/ui-*"], ["ui-a", "ui-b"]],
    ["--exclude", ["--exclude", "db-*", "--exclude", "misc"], ["ui-a", "ui-b"]],
    ["--task and --exclude", ["--task", "db-*", "--exclude", "db-slow"], ["db-a", "db-b"]],
    ["--task-tag", ["--task-tag", "first"], ["db-a", "ui-a"]],
    ["--category", ["--category", "ui", "--category", "other"], ["misc", "ui-a", "ui-b"]],
    ["--category and --task-tag", ["--category", "ui", "--task-tag", "first"], ["ui-a"]],
    ["--limit", ["--limit", "2"], every.slice(0, 2)],
    ["--limit after the others", ["--exclude", "db-*", "--limit", "1"], ["misc"]],
  ];
  for (const [title, options, tasks] of choices) {
    test(title, async () => {
      const room = await makeWideRoom();
      const { stdout } = await room.run(["plan", "job.yaml", "--json", ...options]);
      const plan = JSON.parse(stdout) as { trials: number; tasks: { task: string }[] };
      expect(plan.tasks.map(({ task }) => task)).toEqual(tasks);
      expect(plan.trials).toBe(tasks.length * 2);
      const ran = await runJson(room, "job.yaml", "--agent", "two", ...options);
      expect(trialsOf(ran)).toEqual(tasks.map((task) => `two:${task}:1`));
    });
  }

  test("--sample draws the same tasks for the same --seed and others for another", async () => {
    const room = await makeWideRoom();
    const draw = async (...options: string[]): Promise<string[]> => {
      const { stdout } = await room.run(["plan", "job.yaml", "--json", "--sample", "3", ...options]);
      return (JSON.parse(stdout) as { tasks: { task: string }[] }).tasks.map(({ task }) => task);
    };
    const drawn = await draw();
    expect(drawn).toHaveLength(3);
    expect(await draw("--seed", "0")).toEqual(drawn);
    const others = await Promise.all(["1", "2", "3"].map((seed) => draw("--seed", seed)));
    expect(new Set([drawn, ...others].map(String)).size).toBeGreaterThan(1);
  });

  test("--agent narrows the job's agents, keeps their order of asking and adds the built-in ones", async () => {
    const room = await makeWideRoom();
    const ran = await runJson(room, "job.yaml", "--agent", "nop", "--agent", "one", "--limit", "1");
    expect(trialsOf(ran)).toEqual(["nop:db-a:1", "one:db-a:1"]);
    expect(await room.readJson("jobs/job/config.json")).toMatchObject({ agents: [{ name: "nop" }, { name: "one" }] });
  });

  test("--attempts, --concurrency and --name go over the file and into config.json", async () => {
    const room = await makeJobRoom();
    const ran = await runJson(room, "job.yaml", "--attempts", "3", "--concurrency", "1", "--name", "other");
    expect(trialsOf(ran)).toEqual(["agent:alpha:1", "agent:alpha:2", "agent:alpha:3"]);
    expect(ran.job_dir).toBe(room.path("jobs/other"));
    const config = await room.readJson("jobs/other/config.json");
    expect(config).toMatchObject({ name: "other", n_attempts: 3, n_concurrent_trials: 1 });
  });

  test("--concurrency holds: with one at a time no trial begins before the last one has ended", async () => {
    const room = await makeJobRoom({}, ["a", "b", "c"]);
    const { stdout } = await room.run(["job.yaml", "--json=events", "--concurrency", "1"]);
    const types = [...stdout.matchAll(/"type":"(unit_started|unit_finished)"/g)].map(([, type]) => type);
    const pair = ["unit_started", "unit_finished"];
    expect(types).toEqual([...pair, ...pair, ...pair]);
  });

  test("--set reaches any key, also inside lists, and reads its value as YAML", async () => {
    const room = await makeJobRoom(agentOf("print-env MODEL"));
    const sets = ["--set", "agents[0].env.MODEL=large", "--set", "n_attempts=2", "--set", "metrics=[{type: mean}]"];
    const ran = await runJson(room, "job.yaml", ...sets);
    expect(ran.result).toMatchObject({ total_trials: 2, metrics: { mean: 1 } });
    expect(await room.read("jobs/job/agent/tasks/alpha__1/command/stdout.txt")).toBe("MODEL=large\n");
  });

  test("--environment names another provider than the file", async () => {
    const room = await makeJobRoom({ environment: { ...scriptedEnvironment, type: "docker" } });
    const ran = await runJson(room, "job.yaml", "--environment", "memory");
    expect(ran.exit_code).toBe(0);
    expect(await room.readJson("jobs/job/config.json")).toMatchObject({ environment: { type: "memory" } });
  });
});

describe("the words may come in any order:", () => {
  const orders = [
    ["run", "job.yaml", "--attempts", "2"],
    ["job.yaml", "--attempts", "2"],
    ["--attempts", "2", "job.yaml"],
    ["--attempts=2", "--agent", "agent", "job.yaml"],
    ["./job.yaml", "--attempts", "2"],
  ];
  for (const args of orders) {
    test(`rollout ${args.join(" ")}`, async () => {
      const room = await makeJobRoom();
      expect(trialsOf(await runJson(room, ...args))).toEqual(["agent:alpha:1", "agent:alpha:2"]);
    });
  }

  test("a job in JSON is a job too, and its paths start from the file", async () => {
    const room = await makeJobRoom();
    await room.writeTask("deep/down/tasks/beta");
    await room.writeJob({}, "deep/down/job.json");
    const ran = await runJson(room, "deep/down/job.json");
    expect(trialsOf(ran)).toEqual(["agent:beta:1"]);
    expect(ran.job_dir).toBe(room.path("jobs/job"));
  });
});

describe("task directories without a job file", () => {
  const memory = ["--environment", "memory", "--set", `environment.provider_config.handler=${scriptedShell}`];

  test("run with built-in agents in a dataset called tasks", async () => {
    const room = await makeRoom();
    await room.writeTask("tasks/a", { solution: "write /app/done yes" });
    await room.writeTask("elsewhere/b", { test: "reward 0.5" });
    const agents = ["--agent", "oracle", "--agent", "nop"];
    const ran = await runJson(room, "run", ...agents, "./tasks/a", "./elsewhere/b", ...memory, "--name", "check");
    expect(trialsOf(ran)).toEqual(["oracle:a:1", "oracle:b:1", "nop:a:1", "nop:b:1"]);
    expect(ran.result.results.map((trial) => trial.dataset_name)).toEqual(["tasks", "tasks", "tasks", "tasks"]);
    expect(ran.result.results.map((trial) => trial.reward)).toEqual([1, 0.5, 1, 0.5]);
    expect(ran.job_dir).toBe(room.path("jobs/check"));
  });

  test("run without the word run, too", async () => {
    const room = await makeRoom();
    await room.writeTask("mine");
    const ran = await runJson(room, "./mine", "--agent", "oracle", ...memory);
    expect(trialsOf(ran)).toEqual(["oracle:mine:1"]);
    expect(ran.job_dir).toMatch(/\/jobs\/\d{4}-\d\d-\d\d__\d\d-\d\d-\d\d$/);
  });

  test("need an agent, and one that is built in", async () => {
    const room = await makeRoom();
    await room.writeTask("mine");
    const without = await room.run(["run", "./mine", ...memory]);
    expect(without.code).toBe(2);
    expect(without.stderr).toContain("rollout run --agent oracle ./mine");
    const unknown = await room.run(["run", "./mine", "--agent", "cpe", ...memory]);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("oracle and nop");
  });

  test("of one name are refused, because their results would share a folder", async () => {
    const room = await makeRoom();
    await room.writeTask("x/same");
    await room.writeTask("y/same");
    const { code, stderr } = await room.run(["run", "--agent", "nop", "./x/same", "./y/same", ...memory]);
    expect(code).toBe(2);
    expect(stderr).toContain("same");
    expect(await room.files("jobs")).toEqual([]);
  });
});

test("two jobs without a name that start at once get a directory each", async () => {
  const room = await makeJobRoom({ name: undefined });
  const ran = await Promise.all([1, 2, 3].map(() => runJson(room, "job.yaml")));
  expect(new Set(ran.map((job) => job.job_dir)).size).toBe(3);
  expect(ran.map((job) => job.exit_code)).toEqual([0, 0, 0]);
});

test("an agent that is named twice runs once", async () => {
  const room = await makeWideRoom();
  const run = await runJson(room, "job.yaml", "--agent", "two", "--agent", "two", "--task", "misc");
  expect(trialsOf(run)).toEqual(["two:misc:1"]);
});

test("an agent that the job does not have is named with the one that was meant", async () => {
  const room = await makeWideRoom();
  const { code, stderr } = await room.run(["job.yaml", "--agent", "tow"]);
  expect(code).toBe(2);
  expect(stderr).toContain('did you mean "two"?');
});

test("paths on the command line start from the working directory, also in --set", async () => {
  const room = await makeWideRoom();
  await room.write("elsewhere/job.yaml", "agents: [{ name: nop }]\ndatasets: [{ path: ../tasks }]\n");
  for (const option of ["--environment=./nope.ts", "--set=environment.type=./nope.ts"]) {
    const { code, stderr } = await room.run(["elsewhere/job.yaml", option]);
    expect(code).toBe(2);
    expect(stderr).toContain(room.path("nope.ts"));
  }
});
