import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openJobFolder, type JobFolder } from "./testing/job-folder.ts";

let folder: JobFolder;
beforeAll(async () => {
  folder = await openJobFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

const whole = "agents:\n  - name: oracle\ndatasets:\n  - path: tasks\n";

describe("variables", () => {
  const text = `environment:
  provider_config:
    token: \${TOKEN:-none}
    list: [{ url: "https://\${HOST}/" }]
verifier:
  env:
    JUDGE_KEY: \${KEY}
    PLAIN: $KEY
agents:
  - name: mine
    description: uses \${KEY}
    install: echo \${NOT_OURS} $HOME
    execute: |
      run "\${ALSO_NOT_OURS:-x}" \${KEY}
    env:
      API_KEY: \${KEY}
      EMPTY: \${EMPTY}
      FALLBACK: \${EMPTY:-instead}
datasets:
  - path: tasks
`;
  const env = { KEY: "key-value-1", HOST: "h.test", EMPTY: "" };

  test("come from the machine in env and provider_config, and nowhere else", async () => {
    const job = await folder.load(text, { env });
    expect(job.environment.providerConfig).toEqual({ token: "none", list: [{ url: "https://h.test/" }] });
    expect(job.verifier.env).toEqual({ JUDGE_KEY: "key-value-1", PLAIN: "$KEY" });
    expect(job.agents[0]).toMatchObject({
      description: "uses ${KEY}",
      install: "echo ${NOT_OURS} $HOME",
      execute: 'run "${ALSO_NOT_OURS:-x}" ${KEY}\n',
      env: { API_KEY: "key-value-1", EMPTY: "", FALLBACK: "instead" },
    });
  });

  test("are kept as templates in config.json, and their values are secrets, each once", async () => {
    const job = await folder.load(text, { env });
    const document = JSON.stringify(job.document);
    expect(document).toContain('"API_KEY":"${KEY}"');
    expect(document).toContain('"url":"https://${HOST}/"');
    expect(document).not.toContain("key-value-1");
    expect(document).not.toContain("h.test");
    expect(job.secrets.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
      { name: "HOST", value: "h.test" },
      { name: "KEY", value: "key-value-1" },
    ]);
  });

  test("that are not set are all told, before anything starts", async () => {
    const problems = await folder.problems(text, { env: {} });
    expect(problems.map((line) => /\$\{(\w+)\} is not set/.exec(line)?.[1])).toEqual(["HOST", "KEY", "KEY", "EMPTY"]);
    expect(problems[0]).toBe(
      "job.yaml:4:19 environment.provider_config.list[0].url: ${HOST} is not set; export HOST, or give a default: ${HOST:-value}",
    );
  });
});

describe("text that looks like a number", () => {
  test("is kept as it was written in variables and versions", async () => {
    const text = `agents:
  - name: a
    execute: run
    env: &env { VERSION: 1.10, ZERO: 007, BIG: 12345678901234567890, FLAG: True, EXP: 1e3 }
verifier:
  env:
    <<: *env
datasets:
  - registry: { url: https://x.test }
    name: n
    version: 2.0
`;
    const expected = { VERSION: "1.10", ZERO: "007", BIG: "12345678901234567890", FLAG: "True", EXP: "1e3" };
    const job = await folder.load(text);
    expect(job.agents[0]?.env).toEqual(expected);
    expect(job.verifier.env).toEqual(expected);
    expect(job.datasets[0]).toMatchObject({ version: "2.0" });
    expect(job.document).toMatchObject({ datasets: [{ version: "2.0" }], agents: [{ env: expected }] });
  });

  test("is kept from JSON too", async () => {
    const text = '{"agents":[{"name":"a","execute":"e","env":{"V":1.10}}],"datasets":[{"path":"tasks"}]}';
    expect((await folder.load(text, { file: "job.json" })).agents[0]?.env).toEqual({ V: "1.10" });
  });
});

describe("paths", () => {
  test("start from the job file, jobs_dir from the working directory, and are absolute in config.json", async () => {
    await mkdir(join(folder.dir, "jobs/here/set"), { recursive: true });
    await writeFile(join(folder.dir, "jobs/registry.json"), "[]");
    const text = `jobs_dir: ../out
environment:
  type: ../provider.ts
agents: [{ name: oracle }]
datasets:
  - path: set
  - tasks: [./set, /]
  - registry: { path: ../registry.json }
    name: n
`;
    const job = await folder.load(text, { file: "jobs/here/job.yaml" });
    const at = (path: string): string => join(folder.dir, path);
    expect(job).toMatchObject({ file: at("jobs/here/job.yaml"), baseDir: at("jobs/here"), jobsDir: at("../out") });
    expect(job.document).toMatchObject({
      jobs_dir: at("../out"),
      environment: { type: at("jobs/provider.ts") },
      datasets: [
        { path: at("jobs/here/set") },
        { tasks: [at("jobs/here/set"), "/"] },
        { registry: { path: at("jobs/registry.json") }, name: "n" },
      ],
    });
    expect(job.datasets.map((dataset) => dataset.name)).toEqual(["set", "tasks", "n"]);
  });

  test.each(["docker", "@scope/provider", "some-package"])("the provider %s is no path", (type) => {
    const job = folder.define({ environment: { type }, agents: [{ name: "oracle" }], datasets: [{ path: "tasks" }] });
    expect(job.environment.type).toBe(type);
  });
});

describe("config.json", () => {
  test("is the job as resolved, and reading it gives the same job", async () => {
    const text = `n_attempts: 2\nenvironment:\n  override_memory: 1Gi\nverifier:\n  env: { K: "\${KEY}" }\n${whole}`;
    const env = { KEY: "key-value-1" };
    const job = await folder.load(text, { env, set: ["n_attempts=4"] });
    expect(job.document).toEqual({
      jobs_dir: join(folder.dir, "jobs"),
      n_attempts: 4,
      n_concurrent_trials: 4,
      timeout_multiplier: 1,
      retry: { max_attempts: 3, initial_delay_ms: 1000, max_delay_ms: 30_000, multiplier: 2 },
      log_level: "error",
      instruction_path: "/tmp/instruction.md",
      output_limit: "64Mi",
      logs_limit: "1Gi",
      environment: {
        type: "docker",
        force_build: false,
        preserve_env: "never",
        provider_config: {},
        override_memory: "1Gi",
        network: {},
      },
      verifier: { override_timeout_sec: 0, max_timeout_sec: 0, disable: false, env: { K: "${KEY}" } },
      metrics: [],
      agents: [{ name: "oracle", env: {}, cache: false }],
      datasets: [{ path: join(folder.dir, "tasks") }],
      budget: {},
    });
    const again = await folder.load(JSON.stringify(job.document, null, 2), { env, file: "elsewhere/config.json" });
    const { file: _file, baseDir: _baseDir, placeOf: _placeOf, isConcurrencyChosen, ...rest } = again;
    expect(job).toMatchObject(rest);
    // What a job ran with is what it goes on with.
    expect([job.isConcurrencyChosen, isConcurrencyChosen]).toEqual([false, true]);
  });
});

describe("quantities", () => {
  test("may be numbers or text, and bytes are whole", async () => {
    const text = `output_limit: 0.1Ki\nenvironment:\n  override_cpus: 1.5\n  override_memory: 0.1Gi\n  override_storage: 1e9\n${whole}`;
    const job = await folder.load(text);
    expect(job.outputLimitBytes).toBe(102);
    expect(job.environment).toMatchObject({
      overrideCpus: 1.5,
      overrideMemoryBytes: 107_374_182,
      overrideStorageBytes: 1e9,
    });
  });

  test("an output limit leaves room for a first and a last byte", async () => {
    expect((await folder.load(`output_limit: 1\n${whole}`)).outputLimitBytes).toBe(2);
  });
});
