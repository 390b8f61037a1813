import { readdirSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { formatProblem } from "../../base/problem.ts";
import { parseTaskFile } from "./parse-task-file.ts";
import { taskFileSchema } from "./task-schema.ts";

const fixtures = new URL("./fixtures/", import.meta.url);

function parseFixture(path: string) {
  const text = new TextDecoder().decode(readFileSync(new URL(path, fixtures)));
  const { config, problems } = parseTaskFile(text, "task.toml");
  return { config, problems: problems.map(formatProblem) };
}

describe("dialects", () => {
  test("every dialect loads", () => {
    for (const name of readdirSync(new URL("dialects", fixtures))) {
      const { config, problems } = parseFixture(`dialects/${name}`);
      expect(config, `${name}: ${problems.join("\n")}`).not.toBeNull();
    }
  });

  test("the seed's own form is taken as it stands, without a warning", () => {
    const { config, problems } = parseFixture("dialects/seed.toml");
    expect(problems).toEqual([]);
    expect(config).toEqual({
      version: "1.0",
      source: "somebody/some-set",
      metadata: {
        author_name: "Ada",
        author_email: "ada@example.com",
        difficulty: "easy",
        category: "programming",
        tags: ["trivial", "shell"],
      },
      tags: ["trivial", "shell"],
      category: "programming",
      difficulty: "easy",
      verifier: { timeoutSec: 120, env: {}, leftovers: null, nonzeroExit: null, environment: null, paths: null },
      agent: { installTimeoutSec: 200.5, timeoutSec: 130 },
      environment: {
        buildTimeoutSec: 500,
        dockerImage: "some-org/some-name:some-tag",
        cpus: 0.5,
        memoryBytes: 4 * 2 ** 30,
        storageBytes: 20e9,
      },
      networkDemands: { agent: null, verifier: null },
      hasSolutionEnv: false,
    });
  });

  test("an empty file has every default", () => {
    const { config, problems } = parseFixture("dialects/empty.toml");
    expect(problems).toEqual([]);
    expect(config).toMatchObject({
      version: "1.0",
      source: null,
      metadata: {},
      tags: [],
      category: null,
      difficulty: null,
      verifier: { timeoutSec: 600, env: {} },
      agent: { installTimeoutSec: 300, timeoutSec: 600 },
      environment: { buildTimeoutSec: 600, dockerImage: null, cpus: 1, memoryBytes: 2e9, storageBytes: 10e9 },
    });
  });

  test("numbers, mebibytes, another name for the version and an empty image are understood", () => {
    const { config, problems } = parseFixture("dialects/numbers.toml");
    expect(problems).toEqual([]);
    expect(config).toMatchObject({
      version: "1.1",
      tags: ["python", "web"],
      verifier: { timeoutSec: 900 },
      environment: { cpus: 2, memoryBytes: 4096 * 2 ** 20, storageBytes: 10240 * 2 ** 20, dockerImage: null },
    });
  });

  test("an amount that is said twice in two units is no contradiction", () => {
    const { config } = parseFixture("dialects/same-amount-twice.toml");
    expect(config?.environment).toMatchObject({ memoryBytes: 2e9, storageBytes: 10 * 2 ** 30 });
  });

  test("keys of other tools that change nothing give no warning", () => {
    const { config, problems } = parseFixture("dialects/other-tools.toml");
    expect(problems).toEqual([]);
    expect(config).toMatchObject({
      metadata: { created: "2024-05-01", big: "12345678901234567", custom_docker_compose: true },
      verifier: {
        timeoutSec: 1.5,
        env: { OPENAI_API_KEY: "${OPENAI_API_KEY}", MODEL: "${MODEL:-small}", PLAIN: "x", COUNT: "3" },
        environment: null,
      },
      networkDemands: { agent: null, verifier: null },
      hasSolutionEnv: false,
    });
  });

  test.for([
    ["[environment]\nallow_internet = false", "environment.allow_internet", "environment.allow_internet"],
    ['[environment]\nnetwork_mode = "no-network"', "environment.network_mode", "environment.network_mode"],
    ['[agent]\nnetwork_mode = "allowlist"', "agent.network_mode", null],
    ['[environment]\nnetwork_mode = "none"\n[agent]\nnetwork_mode = "public"', null, "environment.network_mode"],
    ['[environment]\nnetwork_mode = "public"\nallow_internet = true', null, null],
  ] as const)("reads the network demands of %j", ([text, agent, verifier]) => {
    const { config } = parseTaskFile(text, "task.toml");
    expect(config?.networkDemands.agent?.key ?? null).toBe(agent);
    expect(config?.networkDemands.verifier?.key ?? null).toBe(verifier);
  });

  test("reports solution.env without refusing the task", () => {
    const { config } = parseTaskFile('[solution.env]\nKEY = "x"\n', "task.toml");
    expect(config?.hasSolutionEnv).toBe(true);
  });

  test("the verifier keys of ours are taken", () => {
    const { config, problems } = parseFixture("dialects/ours.toml");
    expect(problems).toEqual([]);
    expect(config?.verifier).toMatchObject({
      leftovers: "kill",
      nonzeroExit: "reward",
      environment: "separate",
      paths: ["/app", "/data"],
    });
  });

  test("dotted, quoted and inline keys say the same as tables", () => {
    const { config } = parseFixture("dialects/dotted-and-inline.toml");
    expect(config).toMatchObject({
      category: "games",
      verifier: { timeoutSec: 7 },
      agent: { timeoutSec: 8, installTimeoutSec: 9 },
      environment: { cpus: 0.5, memoryBytes: 512 * 2 ** 20 },
    });
  });

  test("metadata may be anything", () => {
    const { config } = parseFixture("dialects/loose-metadata.toml");
    expect(config).toMatchObject({ difficulty: "3", category: null, tags: ["a", "2", "b"] });
  });

  test("line ends of another system do not move positions", () => {
    const { config, problems } = parseFixture("dialects/dos.toml");
    expect(config?.agent.timeoutSec).toBe(5);
    expect(problems).toEqual(["task.toml:4:1 warning: agent.surprise: unknown key; it is ignored"]);
  });

  test("a slip in a key is answered with the key that was meant", () => {
    const { problems } = parseTaskFile("[agent]\ntimout_sec = 3\n", "task.toml");
    expect(problems.map(formatProblem)).toEqual([
      'task.toml:2:1 warning: agent.timout_sec: unknown key; did you mean "timeout_sec"?',
    ]);
  });
});

describe("broken files", () => {
  test("a template that is not TOML is told with line and column", () => {
    const { config, problems } = parseFixture("broken/template.toml");
    expect(config).toBeNull();
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^task\.toml:4:\d+ is not valid TOML: /);
  });

  test("steps make a task invalid", () => {
    const { config, problems } = parseFixture("broken/steps.toml");
    expect(config).toBeNull();
    expect(problems).toEqual(["task.toml:3:3 steps: tasks with several steps are not supported"]);
  });

  test("another operating system makes a task invalid wherever it stands", () => {
    const windows = parseFixture("broken/windows.toml");
    expect(windows.config).toBeNull();
    expect(windows.problems[0]).toBe(
      'task.toml:3:1 environment.os: tasks for "windows" are not supported; only "linux" is',
    );
    const inVerifier = parseFixture("broken/windows-in-verifier.toml");
    expect(inVerifier.config).toBeNull();
    expect(inVerifier.problems[1]).toMatch(/^task\.toml:2:1 verifier\.environment\.os: /);
    expect(parseTaskFile('[metadata]\nos = "windows"\n', "x").config).not.toBeNull();
  });

  test("every feature that changes what is measured and is not supported makes a task invalid", () => {
    const { config, problems } = parseFixture("broken/other-tools.toml");
    expect(config).toBeNull();
    const keys = problems.map((problem) => problem.split(" ")[1]);
    expect(keys).toEqual([
      "verifier.user:",
      "verifier.environment_mode:",
      "verifier.collect:",
      "verifier.environment:",
      "agent.user:",
      "environment.gpus:",
      "environment.workdir:",
      "environment.skills_dir:",
      "environment.tpu:",
      "environment.env:",
      "environment.healthcheck:",
      "environment.mcp_servers:",
    ]);
    expect(problems.some((problem) => problem.includes("warning"))).toBe(false);
  });

  test("all problems come at once, each where it stands", () => {
    const { config, problems } = parseFixture("broken/many.toml");
    expect(config).toBeNull();
    expect(problems).toEqual([
      "task.toml:1:1 version: must be a string",
      "task.toml:2:1 source: must be a string",
      "task.toml:3:1 metadata: must be a table",
      "task.toml:6:1 verifier.timeout_sec: must be more than 0 seconds",
      'task.toml:7:1 verifier.leftovers: must be "keep" or "kill"',
      'task.toml:8:1 verifier.nonzero_exit: must be "error" or "reward"',
      'task.toml:9:1 verifier.environment: must be "shared" or "separate"',
      "task.toml:10:1 verifier.paths: must be a list of paths",
      "task.toml:11:9 verifier.env.A: must be a string",
      "task.toml:14:1 agent.install_timeout_sec: must be a number of seconds",
      "task.toml:15:1 agent.timeout_sec: must be a number of seconds",
      "task.toml:18:1 environment.build_timeout_sec: must be more than 0 seconds",
      "task.toml:19:1 environment.docker_image: must be the name of an image",
      'task.toml:20:1 environment.cpus: must be a quantity above 0 such as "2G", "512Mi" or "0.5"',
      'task.toml:21:1 environment.memory: must be a quantity above 0 such as "2G", "512Mi" or "0.5"',
      'task.toml:22:1 environment.storage: must be a quantity above 0 such as "2G", "512Mi" or "0.5"',
      "task.toml:23:1 environment.memory_mb: must be more than 0",
    ]);
  });

  test("two amounts that differ are told", () => {
    const { config, problems } = parseFixture("broken/contradiction.toml");
    expect(config).toBeNull();
    expect(problems).toEqual([
      'task.toml:3:1 environment.memory_mb: says 2048 MiB while memory says "4G"; keep one of the two',
      'task.toml:5:1 environment.storage_mb: says 5000 MiB while storage says "10G"; keep one of the two',
    ]);
  });

  test("what should be a table and is not is told", () => {
    expect(parseFixture("broken/not-tables.toml").problems).toEqual([
      "task.toml:1:1 verifier: must be a table",
      "task.toml:2:1 agent: must be a table",
      "task.toml:3:1 environment: must be a table",
    ]);
  });
});

test("no text makes it throw, and a task without a configuration always has an error", () => {
  const pieces = fc.array(
    fc.oneof(
      fc.constantFrom(
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        ".",
        ",",
        "\n",
        '"',
        "'",
        '"""',
        "'''",
        "#",
        "\\",
        "os",
        "steps",
      ),
      fc.constantFrom(
        "version",
        "environment",
        "verifier",
        "memory",
        "metadata",
        "1",
        "true",
        '"windows"',
        "1979-05-27",
        "0x1",
        "inf",
      ),
      fc.string(),
    ),
  );
  fc.assert(
    fc.property(pieces, (parts) => {
      const { config, problems } = parseTaskFile(parts.join(" "), "task.toml");
      expect(config === null).toBe(problems.some((problem) => problem.severity === "error"));
    }),
    { numRuns: 500 },
  );
});

test("an editor's schema can be made of it", () => {
  const schema = z.toJSONSchema(taskFileSchema, { io: "input" });
  expect(schema.properties).toHaveProperty("environment");
  expect(schema.required ?? []).toEqual([]);
});
