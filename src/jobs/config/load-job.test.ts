import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readHost } from "../../base/host.ts";
import { loadJob } from "./load-job.ts";
import { openJobFolder, type JobFolder } from "./testing/job-folder.ts";

let folder: JobFolder;
beforeAll(async () => {
  folder = await openJobFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

const whole = "agents:\n  - name: oracle\ndatasets:\n  - path: tasks\n";

async function problemsOf(text: string, more: Parameters<JobFolder["problems"]>[1] = {}): Promise<string[]> {
  return (await folder.problems(text, more)).map((line) => line.replaceAll(folder.dir, "DIR"));
}

describe("problems", () => {
  test("of every kind are told in one go, in the order of the file", async () => {
    const text = `name: .hidden
n_attempts: 0
timeout: 5
environment:
  type: docker
  preserve_env: on_failur
  override_memory: lots
  provider_config:
    token: \${PROVIDER_TOKEN}
agents:
  - name: a
    execute: run
    env:
      KEY: \${FIRST} and \${SECOND}
      1ST: x
  - name: b
    exceute: run
  - name: A
    execute: run
  - name: oracle
    execute: run
  - description: nameless
datasets:
  - path: ./missing
  - pth: ./tasks
  - tasks: [5, ./gone]
  - registry: {}
    name: n
verifier:
  paths: [relative]
  environment: shared
`;
    expect(await problemsOf(text)).toEqual([
      'job.yaml:1:7 name: ".hidden" starts with a dot; it becomes a folder\'s name, so begin it with something else',
      "job.yaml:2:13 n_attempts: must be at least 1, got 0",
      "job.yaml:3:1 timeout: unknown key; known: name, jobs_dir, n_attempts, n_concurrent_trials, timeout_multiplier, retry, log_level, instruction_path, output_limit, logs_limit, environment, verifier, metrics, agents, datasets, budget",
      'job.yaml:6:17 environment.preserve_env: expected one of always, never, on_failure, got "on_failur"; did you mean "on_failure"?',
      'job.yaml:7:20 environment.override_memory: "lots" is not a positive quantity; write it like 500m, 0.5, 2G, 2Gi or 1e9',
      "job.yaml:9:12 environment.provider_config.token: ${PROVIDER_TOKEN} is not set; export PROVIDER_TOKEN, or give a default: ${PROVIDER_TOKEN:-value}",
      "job.yaml:14:12 agents[0].env.KEY: ${FIRST} is not set; export FIRST, or give a default: ${FIRST:-value}",
      "job.yaml:14:12 agents[0].env.KEY: ${SECOND} is not set; export SECOND, or give a default: ${SECOND:-value}",
      'job.yaml:15:7 agents[0].env["1ST"]: is not a name a variable can have: letters, digits and _ only',
      'job.yaml:17:5 agents[1].exceute: unknown key; did you mean "execute"?',
      'job.yaml:18:11 agents[2].name: "A" and "a" would share one folder; give one another name',
      'job.yaml:21:5 agents[3].execute: "oracle" is a built-in agent and takes no execute script; use another name for your own',
      "job.yaml:22:5 agents[4].name: is required (a string)",
      "job.yaml:22:5 agents[4].execute: is required: the script that runs the agent",
      "job.yaml:24:11 datasets[0].path: DIR/missing does not exist",
      'job.yaml:25:5 datasets[1].pth: unknown key; did you mean "path"?',
      "job.yaml:26:13 datasets[2].tasks[0]: expected a string, got 5",
      "job.yaml:26:16 datasets[2].tasks[1]: DIR/gone does not exist",
      "job.yaml:27:15 datasets[3].registry: needs exactly one of path and url",
      "job.yaml:30:3 verifier.paths: has no effect with verifier.environment: shared",
      "job.yaml:30:11 verifier.paths[0]: must be absolute",
    ]);
  });

  test("stand at the place a person would look", async () => {
    const mine = "  - name: mine\n    install: |\n      a\n      b\n    exceute: |\n      run\n";
    const text = whole.replace("datasets:", `${mine}datasets:`);
    expect(await problemsOf(text)).toEqual(['job.yaml:7:5 agents[1].exceute: unknown key; did you mean "execute"?']);
  });

  test("carry the file as it was typed", async () => {
    await mkdir(join(folder.dir, "sub"), { recursive: true });
    expect(await problemsOf("agents: []\ndatasets: [{ path: ../tasks }]\n", { file: "sub/./job.yml" })).toEqual([
      "sub/./job.yml:1:9 agents: needs at least one agent",
    ]);
  });

  test("of an empty file are what it lacks", async () => {
    for (const text of ["", "# nothing yet\n", "{}", "---\n"]) {
      const problems = await problemsOf(text);
      expect(problems.map((line) => line.replace(/:\d+:\d+/, ""))).toEqual([
        "job.yaml agents: is required (a list)",
        "job.yaml datasets: is required (a list)",
      ]);
    }
  });

  test.each([
    ["- name: oracle\n", "a list"],
    ["just text\n", '"just text"'],
    ["42\n", "42"],
  ])("of a file that is no table are just that: %j", async (text, got) => {
    expect(await problemsOf(text)).toEqual([`job.yaml:1:1 expected a table, got ${got}`]);
  });

  test("in a file that does not parse are the parser's, all of them", async () => {
    expect(await problemsOf("name: a\nname: b\nretry: *none\n")).toEqual([
      "job.yaml:2:1 this key is already in the table; keep one of the two",
      "job.yaml:3:8 *none has no anchor &none before it",
    ]);
  });

  test("in JSON have lines and columns too", async () => {
    const text = JSON.stringify({ agents: [{ name: "a", exceute: "x" }], datasets: [{ path: "tasks" }] }, null, "\t");
    expect(await problemsOf(text, { file: "job.json" })).toEqual([
      'job.json:5:4 agents[0].exceute: unknown key; did you mean "execute"?',
    ]);
  });

  test("behind a byte order mark and with Windows line ends keep their columns", async () => {
    const text = `\uFEFFn_attempts: 0\n${whole}`.replaceAll("\n", "\r\n");
    expect(await problemsOf(text)).toEqual(["job.yaml:1:13 n_attempts: must be at least 1, got 0"]);
  });

  test("say that nothing was started, and how many there are", async () => {
    await expect(folder.load("agents: []\ndatasets: []\n")).rejects.toMatchObject({
      code: "config_invalid",
      message: "the job has 2 problems; nothing was started",
    });
    await expect(folder.load(`${whole}n_attempts: 0\n`)).rejects.toMatchObject({
      message: "the job has 1 problem; nothing was started",
    });
  });
});

describe("what is wrong once is told once", () => {
  test.each<[string, string, string[]]>([
    [
      "a dataset's path of a wrong type",
      "datasets: [{ path: 5 }]",
      ["job.yaml:2:20 datasets[0].path: expected a string, got 5"],
    ],
    [
      "a mistyped source of a dataset",
      "datasets: [{ registy: { url: x }, name: n }]",
      ['job.yaml:2:14 datasets[0].registy: unknown key; did you mean "registry"?'],
    ],
    [
      "a mistyped place of a registry",
      "datasets: [{ registry: { ulr: x }, name: n }]",
      ['job.yaml:2:26 datasets[0].registry.ulr: unknown key; did you mean "url"?'],
    ],
    [
      "a version beside a mistyped registry",
      "datasets: [{ path: tasks, registri: {}, version: 1 }]",
      ['job.yaml:2:27 datasets[0].registri: unknown key; did you mean "registry"?'],
    ],
    ["an empty list of tasks", "datasets: [{ tasks: [] }]", ["job.yaml:2:21 datasets[0].tasks: needs at least 1"]],
    ["a dataset that is no table", "datasets: [tasks]", ['job.yaml:2:12 datasets[0]: expected a table, got "tasks"']],
    [
      "an unknown key that is a known one elsewhere",
      "datasets: [{ path: none }]\nenvironment: { name: x }",
      [
        "job.yaml:2:20 datasets[0].path: DIR/none does not exist",
        "job.yaml:3:16 environment.name: unknown key; known: type, force_build, preserve_env, provider_config, override_cpus, override_memory, override_storage, pids_limit, network",
      ],
    ],
  ])("%s", async (_, text, expected) => {
    expect(await problemsOf(`agents: [{ name: oracle }]\n${text}\n`)).toEqual(expected);
  });

  test("a name that stands in for a missing one is never shown and never collides", async () => {
    const text = `agents:
  - execute: run
  - execute: run
  - name: stand-in-0
    execute: run
  - name: Stand-In-1
    execute: run
datasets:
  - path: tasks
`;
    expect(await problemsOf(text)).toEqual([
      "job.yaml:2:5 agents[0].name: is required (a string)",
      "job.yaml:3:5 agents[1].name: is required (a string)",
    ]);
  });

  test("a job with many wrong things finds the same each time", async () => {
    const text = "name: 5\nagents: [5, { name: 5 }, {}]\ndatasets: [5, { name: 5 }, { path: none }]\nmetrics: [5]\n";
    const first = await problemsOf(text);
    expect(await problemsOf(text)).toEqual(first);
    expect(first).toContain("job.yaml:3:36 datasets[2].path: DIR/none does not exist");
  });
});

describe("a file that cannot be read", () => {
  const read = (file: string): Promise<unknown> => {
    return loadJob(file, [], readHost({ env: {}, cwd: () => folder.dir, platform: "linux", pid: 1, execPath: "node" }));
  };

  test("because it is not there is told, with the way to make one", async () => {
    await expect(read("none.yaml")).rejects.toMatchObject({
      code: "config_invalid",
      message: "none.yaml does not exist",
      hint: "rollout init job makes one",
    });
  });

  test.each(["tasks", "./tasks/"])("because it is a directory is told, with what to type: %s", async (path) => {
    await expect(read(path)).rejects.toMatchObject({
      code: "config_invalid",
      message: `${path} is a directory, not a job file`,
      hint: "name the file, as in tasks/job.yaml",
    });
  });

  test("for any other reason is told with that reason", async () => {
    await expect(read("tasks/\0")).rejects.toMatchObject({ code: "config_invalid" });
  });
});

describe("placeOf", () => {
  test("tells later checks where a key stands", async () => {
    const job = await folder.load(`environment:\n  provider_config:\n    a: 1\n${whole}`, {
      set: ["environment.type=x"],
    });
    expect(job.placeOf(["environment", "provider_config", "a"])).toEqual({ file: "job.yaml", line: 3, column: 8 });
    expect(job.placeOf(["environment", "provider_config", "none"])).toEqual({ file: "job.yaml", line: 3, column: 5 });
    expect(job.placeOf(["environment", "type"])).toEqual({ file: "--set environment.type=x" });
  });
});

describe("a job given as an object", () => {
  const value = { agents: [{ name: "oracle" }], datasets: [{ path: "tasks" }] };

  test("is read like a file, without places", () => {
    expect(folder.define(value)).toMatchObject({ file: null, baseDir: folder.dir, nAttempts: 1 });
    expect(folder.defineProblems({ ...value, n_atempts: 1 })).toEqual([
      'job n_atempts: unknown key; did you mean "n_attempts"?',
    ]);
  });

  test("may leave keys undefined and is not changed", () => {
    const given = Object.freeze({ ...value, name: undefined, retry: Object.freeze({ multiplier: undefined }) });
    expect(folder.define(given, { set: ["retry.multiplier=3"] }).retry.multiplier).toBe(3);
    expect(given.retry).toEqual({ multiplier: undefined });
  });

  test.each<[unknown, string]>([
    [null, "job expected a table, got nothing"],
    [[], "job expected a table, got a list"],
    ["job.yaml", 'job expected a table, got "job.yaml"'],
    [{ ...value, name: () => "x" }, "job name: expected a string, got a function"],
    [{ ...value, n_attempts: 1n }, "job n_attempts: expected a number, got 1n"],
  ])("that makes no sense is refused: %o", (given, expected) => {
    expect(folder.defineProblems(given)).toEqual([expected]);
  });
});
