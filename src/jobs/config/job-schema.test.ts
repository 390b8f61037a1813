import { stringify } from "yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openJobFolder, type JobFolder } from "./testing/job-folder.ts";

let folder: JobFolder;
beforeAll(async () => {
  folder = await openJobFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

const agents = [{ name: "oracle" }];
const datasets = [{ path: "tasks" }];

/** A job that is whole but for the keys given; a dotted key sets one inside a table. */
function jobWith(key: string, value: unknown): Record<string, unknown> {
  const [first = "", ...rest] = key.split(".");
  const inner = rest.reduceRight((held, part) => ({ [part]: held }), value);
  return { agents, datasets, [first]: inner };
}

describe("a job that says no more than it must", () => {
  test("has every default", () => {
    const { document: _document, placeOf: _placeOf, ...job } = folder.define({ agents, datasets });
    expect(job).toEqual({
      file: null,
      baseDir: folder.dir,
      name: null,
      jobsDir: `${folder.dir}/jobs`,
      nAttempts: 1,
      nConcurrentTrials: 4,
      isConcurrencyChosen: false,
      timeoutMultiplier: 1,
      retry: { maxAttempts: 3, initialDelayMs: 1000, maxDelayMs: 30_000, multiplier: 2 },
      logLevel: "error",
      instructionPath: "/tmp/instruction.md",
      outputLimitBytes: 64 * 2 ** 20,
      logsLimitBytes: 2 ** 30,
      environment: {
        type: "docker",
        forceBuild: false,
        preserveEnv: "never",
        providerConfig: {},
        overrideCpus: null,
        overrideMemoryBytes: null,
        overrideStorageBytes: null,
        pidsLimit: null,
        network: { agent: "full", verifier: "full" },
        networkSetFor: [],
      },
      verifier: {
        overrideTimeoutSec: null,
        maxTimeoutSec: null,
        disable: false,
        leftovers: null,
        nonzeroExit: null,
        environment: null,
        paths: null,
        env: {},
      },
      metrics: [],
      agents: [
        {
          name: "oracle",
          description: null,
          install: null,
          execute: null,
          env: {},
          nConcurrent: null,
          isCached: false,
        },
      ],
      datasets: [{ kind: "path", path: `${folder.dir}/tasks`, name: "tasks", nConcurrent: null }],
      budget: { costUsd: null, wallSec: null, tokens: null },
      secrets: [],
    });
  });
});

const everything = {
  $schema: "./schemas/job.schema.json",
  name: "my-eval-run",
  jobs_dir: "out",
  n_attempts: 3,
  n_concurrent_trials: 8,
  timeout_multiplier: 1.5,
  retry: { max_attempts: 0, initial_delay_ms: 10, max_delay_ms: 20.5, multiplier: 1 },
  log_level: "debug",
  instruction_path: "/work/task.md",
  output_limit: "1M",
  logs_limit: "2G",
  environment: {
    type: "./provider.ts",
    force_build: true,
    preserve_env: "on_failure",
    provider_config: { network: "net", nested: { list: [1, "two"] } },
    override_cpus: "500m",
    override_memory: "2G",
    override_storage: "30Gi",
    pids_limit: 512,
    network: { agent: "none", verifier: { allow: ["example.org"] } },
  },
  verifier: {
    override_timeout_sec: 0.5,
    max_timeout_sec: 900,
    disable: true,
    leftovers: "kill",
    nonzero_exit: "reward",
    environment: "separate",
    paths: ["/app", "/data"],
    env: { JUDGE: "gpt", LEVEL: 3, STRICT: true },
  },
  metrics: [{ type: "mean" }, { type: "max" }, { type: "mean" }],
  agents: [
    { name: "mine", description: "d", install: "i", execute: "e", env: { A: "1" }, n_concurrent: 2, cache: true },
    { name: "oracle" },
    { name: "nop" },
  ],
  datasets: [
    { path: "./tasks", name: "local", n_concurrent: 1 },
    { tasks: ["tasks"] },
    { registry: { url: "https://example.test/registry.json" }, name: "remote", version: "2.0" },
    { registry: { path: "tasks" }, name: "filed", version: 3 },
  ],
  budget: { cost_usd: 1.5, wall_sec: 3600, tokens: 1_000_000 },
};

describe("a job that says everything", () => {
  const formats: [string, string, (value: unknown) => string][] = [
    ["YAML", "job.yaml", (value) => stringify(value)],
    ["YAML with Windows line ends", "job.yaml", (value) => stringify(value).replaceAll("\n", "\r\n")],
    ["YAML behind a byte order mark", "job.yml", (value) => `\uFEFF${stringify(value)}`],
    ["JSON", "job.json", (value) => JSON.stringify(value)],
    ["JSON indented with spaces", "job.json", (value) => JSON.stringify(value, null, 2)],
    ["JSON indented with tabs", "job.json", (value) => JSON.stringify(value, null, "\t")],
    [
      "JSON with a byte order mark and Windows line ends",
      "job.json",
      (value) => `\uFEFF${JSON.stringify(value, null, "\t").replaceAll("\n", "\r\n")}\r\n`,
    ],
    ["JSON without its file extension", "job.yaml", (value) => JSON.stringify(value, null, 2)],
  ];

  test.each(formats)("is read whole from %s", async (_, file, write) => {
    const { document, placeOf: _placeOf, ...job } = await folder.load(write(everything), { file });
    const { dir } = folder;
    expect(job).toEqual({
      file: `${dir}/${file}`,
      baseDir: dir,
      name: "my-eval-run",
      jobsDir: `${dir}/out`,
      nAttempts: 3,
      nConcurrentTrials: 8,
      isConcurrencyChosen: true,
      timeoutMultiplier: 1.5,
      retry: { maxAttempts: 0, initialDelayMs: 10, maxDelayMs: 20.5, multiplier: 1 },
      logLevel: "debug",
      instructionPath: "/work/task.md",
      outputLimitBytes: 1_000_000,
      logsLimitBytes: 2_000_000_000,
      environment: {
        type: `${dir}/provider.ts`,
        forceBuild: true,
        preserveEnv: "on_failure",
        providerConfig: { network: "net", nested: { list: [1, "two"] } },
        overrideCpus: 0.5,
        overrideMemoryBytes: 2e9,
        overrideStorageBytes: 30 * 2 ** 30,
        pidsLimit: 512,
        network: { agent: "none", verifier: { allow: ["example.org"] } },
        networkSetFor: ["agent", "verifier"],
      },
      verifier: {
        overrideTimeoutSec: 0.5,
        maxTimeoutSec: 900,
        disable: true,
        leftovers: "kill",
        nonzeroExit: "reward",
        environment: "separate",
        paths: ["/app", "/data"],
        env: { JUDGE: "gpt", LEVEL: "3", STRICT: "true" },
      },
      metrics: ["mean", "max"],
      agents: [
        { name: "mine", description: "d", install: "i", execute: "e", env: { A: "1" }, nConcurrent: 2, isCached: true },
        {
          name: "oracle",
          description: null,
          install: null,
          execute: null,
          env: {},
          nConcurrent: null,
          isCached: false,
        },
        { name: "nop", description: null, install: null, execute: null, env: {}, nConcurrent: null, isCached: false },
      ],
      datasets: [
        { kind: "path", path: `${dir}/tasks`, name: "local", nConcurrent: 1 },
        { kind: "tasks", paths: [`${dir}/tasks`], name: "tasks", nConcurrent: null },
        {
          kind: "registry",
          registry: { url: "https://example.test/registry.json" },
          name: "remote",
          version: "2.0",
          nConcurrent: null,
        },
        { kind: "registry", registry: { path: `${dir}/tasks` }, name: "filed", version: "3", nConcurrent: null },
      ],
      budget: { costUsd: 1.5, wallSec: 3600, tokens: 1_000_000 },
      secrets: [],
    });
    expect(Object.keys(document)).not.toContain("$schema");
  });
});

describe("a key is refused", () => {
  test.each<[string, unknown, string]>([
    ["name", "", "must not be empty"],
    ["name", 2025, "expected a string, got 2025"],
    ["jobs_dir", "", "must not be empty"],
    ["n_attempts", 0, "must be at least 1, got 0"],
    ["n_attempts", 1.5, "expected a whole number, got 1.5"],
    ["n_attempts", "3", 'expected a number, got "3"'],
    ["n_concurrent_trials", 0, "must be at least 1, got 0"],
    ["n_concurrent_trials", -1, "must be at least 1, got -1"],
    ["timeout_multiplier", 0, "must be more than 0, got 0"],
    ["timeout_multiplier", true, "expected a number, got true"],
    [
      "retry",
      [],
      "expected a table, got a list; its keys are max_attempts, initial_delay_ms, max_delay_ms, multiplier",
    ],
    ["retry.max_attempts", -1, "must be at least 0, got -1"],
    ["retry.max_attempts", 0.5, "expected a whole number, got 0.5"],
    ["retry.initial_delay_ms", -1, "must be at least 0, got -1"],
    ["retry.max_delay_ms", "1s", 'expected a number, got "1s"'],
    ["retry.multiplier", 0.5, "must be at least 1, got 0.5"],
    ["log_level", "warning", 'expected one of debug, info, warn, error, got "warning"'],
    ["log_level", "inf", 'expected one of debug, info, warn, error, got "inf"; did you mean "info"?'],
    ["instruction_path", "instruction.md", "must be absolute"],
    ["output_limit", "0", '"0" is not a positive quantity; write it like 500m, 0.5, 2G, 2Gi or 1e9'],
    ["output_limit", "64MB", '"64MB" is not a positive quantity; write it like 500m, 0.5, 2G, 2Gi or 1e9'],
    ["environment", "docker", 'expected a table, got "docker"'],
    ["environment.type", "", "must not be empty"],
    ["environment.force_build", "no", 'expected true or false, got "no"'],
    [
      "environment.preserve_env",
      "on-failure",
      'expected one of always, never, on_failure, got "on-failure"; did you mean "on_failure"?',
    ],
    ["environment.provider_config", [], "expected a table, got a list"],
    ["environment.override_cpus", -1, "-1 is not a positive quantity; write it like 500m, 0.5, 2G, 2Gi or 1e9"],
    ["environment.override_memory", "2 G", '"2 G" is not a positive quantity; write it like 500m, 0.5, 2G, 2Gi or 1e9'],
    ["environment.pids_limit", 0, "must be at least 1, got 0"],
    ["environment.override_storage", [], "expected a quantity like 500m, 0.5, 2G, 2Gi or 1e9"],
    [
      "environment.override_storage",
      "1e999",
      '"1e999" is not a positive quantity; write it like 500m, 0.5, 2G, 2Gi or 1e9',
    ],
    ["environment.network.agent", "off", 'expected "full", "none" or { allow: [hosts] }'],
    ["environment.network.verifier", 5, 'expected "full", "none" or { allow: [hosts] }'],
    ["environment.network.verifier.allow", [], "needs at least 1"],
    ["verifier.override_timeout_sec", -1, "must be at least 0, got -1"],
    ["verifier.max_timeout_sec", "1h", 'expected a number, got "1h"'],
    ["verifier.disable", 1, "expected true or false, got 1"],
    ["verifier.leftovers", "kil", 'expected one of keep, kill, got "kil"; did you mean "kill"?'],
    ["verifier.nonzero_exit", "ignore", 'expected one of error, reward, got "ignore"'],
    ["verifier.environment", "own", 'expected one of shared, separate, got "own"'],
    ["verifier.paths", [], "needs at least 1"],
    ["verifier.env", ["A=1"], "expected a table, got a list"],
    ["verifier.env.A", null, "needs a value: a string, a number or a boolean"],
    ["verifier.env.A", { b: 1 }, "needs a value: a string, a number or a boolean"],
    ["metrics", { type: "mean" }, "expected a list, got a table"],
    ["agents", [], "needs at least one agent"],
    ["agents", { name: "x" }, "expected a list, got a table"],
    ["datasets", [], "needs at least one dataset"],
    ["datasets", null, "expected a list, got nothing"],
    ["budget.cost_usd", 0, "must be more than 0, got 0"],
    ["budget.wall_sec", -5, "must be more than 0, got -5"],
    ["budget.tokens", 0, "must be at least 1, got 0"],
  ])("%s: %j", (key, value, message) => {
    expect(folder.defineProblems(jobWith(key, value))).toEqual([`job ${key}: ${message}`]);
  });

  test.for(["https://example.org", "*", "", "a b", "*.10.0.0.1", "example.org:0"])(
    "a host that is none: %j",
    (host) => {
      const problems = folder.defineProblems(jobWith("environment.network.agent", { allow: ["example.org", host] }));
      expect(problems).toEqual([
        expect.stringContaining("environment.network.agent.allow[1]: is not a host; write it like"),
      ]);
    },
  );

  test.each<[string, unknown, string]>([
    ["agents[0].name", [{ name: "", execute: "e" }], "must not be empty"],
    ["agents[0]", ["oracle"], 'expected a table, got "oracle"'],
    ["agents[0].n_concurrent", [{ name: "oracle", n_concurrent: 0 }], "must be at least 1, got 0"],
    ["agents[0].install", [{ name: "a", execute: "e", install: ["x"] }], "expected a string, got a list"],
    [
      'agents[0].env["1ST"]',
      [{ name: "a", execute: "e", env: { "1ST": "x" } }],
      "is not a name a variable can have: letters, digits and _ only",
    ],
    [
      "agents[0].timeout",
      [{ name: "oracle", timeout: 5 }],
      "unknown key; known: name, description, install, execute, env, n_concurrent, cache",
    ],
  ])("%s in an agent", (path, value, message) => {
    expect(folder.defineProblems({ agents: value, datasets })).toEqual([`job ${path}: ${message}`]);
  });

  test.each<[string, unknown, string]>([
    ["datasets[0].tasks", { tasks: [] }, "needs at least 1"],
    ["datasets[0].tasks[0]", { tasks: [5] }, "expected a string, got 5"],
    ["datasets[0].path", { path: "" }, "must not be empty"],
    ["datasets[0].registry", { registry: "https://x" }, 'expected a table, got "https://x"; its keys are path, url'],
    ["datasets[0].registry.uri", { registry: { uri: "https://x" }, name: "n" }, 'unknown key; did you mean "url"?'],
    ["datasets[0].registry.url", { registry: { url: 5 }, name: "n" }, "expected a string, got 5"],
    [
      "datasets[0].version",
      { registry: { url: "https://x" }, name: "n", version: true },
      "expected a string or a number, got true",
    ],
    ["datasets[0].n_concurrent", { path: "tasks", n_concurrent: 0 }, "must be at least 1, got 0"],
  ])("%s in a dataset", (path, value, message) => {
    expect(folder.defineProblems({ agents, datasets: [value] })).toEqual([`job ${path}: ${message}`]);
  });

  test("an unknown metric, with what was meant", () => {
    expect(folder.defineProblems(jobWith("metrics", [{ type: "mxa" }]))).toEqual([
      'job metrics[0].type: expected one of sum, min, max, mean, got "mxa"; did you mean "max"?',
    ]);
  });
});

describe("a key that is written but not filled in", () => {
  test("counts as left out where it may be left out", async () => {
    const text = `
name:
retry:
environment:
  provider_config:
  override_cpus: ~
  network:
verifier:
  env:
metrics:
agents:
  - name: oracle
    description:
    install:
    env:
datasets:
  - path: tasks
    name:
budget:
`;
    const job = await folder.load(text);
    expect(job).toMatchObject({ name: null, retry: { maxAttempts: 3 }, metrics: [] });
    expect(job.environment).toMatchObject({ type: "docker", providerConfig: {}, overrideCpus: null });
    expect(job.datasets[0]?.name).toBe("tasks");
    expect(JSON.stringify(job.document)).not.toContain("null");
  });

  test("is refused where something must stand, and an unknown one is still unknown", async () => {
    expect(await folder.problems("agents:\ndatasets:\n  - path: tasks\nn_atempts:\n")).toEqual([
      "job.yaml:1:8 agents: expected a list, got nothing",
      'job.yaml:4:1 n_atempts: unknown key; did you mean "n_attempts"?',
    ]);
  });

  test("is kept inside the provider's own settings", () => {
    const { environment } = folder.define(jobWith("environment.provider_config", { runtime: null }));
    expect(environment.providerConfig).toEqual({ runtime: null });
  });
});
