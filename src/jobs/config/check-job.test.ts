import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openJobFolder, type JobFolder } from "./testing/job-folder.ts";

let folder: JobFolder;
beforeAll(async () => {
  folder = await openJobFolder();
  for (const name of ["a/tasks", "b/tasks", ".hidden", "Tasks"])
    await mkdir(join(folder.dir, name), { recursive: true });
});
afterAll(() => folder[Symbol.asyncDispose]());

const agents = [{ name: "oracle" }];
const datasets = [{ path: "tasks" }];

function problemsWith(part: Record<string, unknown>): string[] {
  const problems = folder.defineProblems({ agents, datasets, ...part });
  return problems.map((line) => line.replace(/^job /, "").replaceAll(folder.dir, "DIR"));
}

describe("agents", () => {
  test.each([{ name: "mine" }, { name: "mine", execute: "" }, { name: "mine", execute: " \n" }])(
    "one without an execute script is refused: %j",
    (agent) => {
      expect(problemsWith({ agents: [agent] })).toEqual([
        "agents[0].execute: is required: the script that runs the agent",
      ]);
    },
  );

  test("an install script is not needed, and a blank one is none", () => {
    const job = folder.define({ agents: [{ name: "a", execute: "run", install: " \n" }], datasets });
    expect(job.agents[0]).toMatchObject({ install: null, execute: "run" });
  });

  test.each(["oracle", "nop"])("%s takes no scripts of its own, only variables", (name) => {
    expect(problemsWith({ agents: [{ name, env: { A: "1" }, description: "d" }] })).toEqual([]);
    expect(problemsWith({ agents: [{ name, install: "x", execute: "y" }] })).toEqual([
      `agents[0].install: "${name}" is a built-in agent and takes no install script; use another name for your own`,
      `agents[0].execute: "${name}" is a built-in agent and takes no execute script; use another name for your own`,
    ]);
  });
});

describe("names", () => {
  const named = (...names: string[]): Record<string, unknown> => ({
    agents: names.map((name) => ({ name, execute: "run" })),
  });

  test.each<[string, string[], string]>([
    ["given twice", ["a", "a"], 'two agents are called "a"; give one another name'],
    [
      "that differ only in case",
      ["Codex", "codex"],
      '"codex" and "Codex" would share one folder; give one another name',
    ],
    ["that become one path segment", ["a/b", "a:b"], '"a:b" and "a/b" would share one folder; give one another name'],
    [
      "that differ only in how an accent is written",
      ["caf\u00e9", "cafe\u0301"],
      '"cafe\u0301" and "caf\u00e9" would share one folder; give one another name',
    ],
    ["that end in dots", ["a.", "a.."], '"a.." and "a." would share one folder; give one another name'],
  ])("%s are refused", (_, names, message) => {
    expect(problemsWith(named(...names))).toEqual([`agents[1].name: ${message}`]);
  });

  test.each(["Claude Code", "openai/gpt-5", "日本", "a.b", "-x", "config", "result.json.x", "agent 1 "])(
    "%s is a good name",
    (name) => {
      expect(problemsWith(named(name))).toEqual([]);
    },
  );

  test("of a thousand characters that differ at the end do not collide", () => {
    expect(problemsWith(named(`${"x".repeat(1000)}1`, `${"x".repeat(1000)}2`))).toEqual([]);
  });

  test("that start with a dot are refused for agents, datasets and the job", () => {
    const text = '".x" starts with a dot; it becomes a folder\'s name, so begin it with something else';
    expect(problemsWith({ ...named(".x"), name: ".x", datasets: [{ path: "tasks", name: ".x" }] })).toEqual([
      `name: ${text}`,
      `agents[0].name: ${text}`,
      `datasets[0].name: ${text}`,
    ]);
  });

  test("a dataset's folder that starts with a dot needs a name of its own", () => {
    expect(problemsWith({ datasets: [{ path: ".hidden" }] })).toEqual([
      'datasets[0].path: ".hidden" starts with a dot; it becomes a folder\'s name, so begin it with something else',
    ]);
    expect(problemsWith({ datasets: [{ path: ".hidden", name: "shown" }] })).toEqual([]);
  });

  test.each(["config.json", "result.json", "Result.JSON"])("%s is taken", (name) => {
    const text = `"${name}" is the name of a file in every job directory; choose another`;
    expect(problemsWith({ ...named(name), datasets: [{ path: "tasks", name }] })).toEqual([
      `agents[0].name: ${text}`,
      `datasets[0].name: ${text}`,
    ]);
  });
});

describe("datasets", () => {
  test("that are called the same, by name or by folder, are refused", () => {
    expect(problemsWith({ datasets: [{ path: "a/tasks" }, { path: "b/tasks" }] })).toEqual([
      'datasets[1].path: two datasets are called "tasks"; give one another name',
    ]);
    expect(problemsWith({ datasets: [{ path: "a/tasks" }, { path: "b/tasks", name: "other" }] })).toEqual([]);
    expect(problemsWith({ datasets: [{ path: "tasks" }, { path: "Tasks" }] })).toEqual([
      'datasets[1].path: "Tasks" and "tasks" would share one folder; give one another name',
    ]);
    expect(problemsWith({ datasets: [{ path: "tasks" }, { tasks: ["a"] }] })).toEqual([
      'datasets[1].tasks: two datasets are called "tasks"; give one another name',
    ]);
  });

  test.each<[Record<string, unknown>, string]>([
    [{}, "none of them is given"],
    [{ name: "x" }, "none of them is given"],
    [{ path: "tasks", tasks: ["tasks"] }, "path and tasks are given"],
    [{ path: "tasks", registry: { path: "tasks" }, name: "n" }, "path and registry are given"],
    [{ path: "tasks", tasks: ["a"], registry: { path: "tasks" }, name: "n" }, "path and tasks and registry are given"],
  ])("have exactly one source: %j", (dataset, got) => {
    expect(problemsWith({ datasets: [dataset] })).toEqual([
      `datasets[0]: needs exactly one of path, tasks and registry; ${got}`,
    ]);
  });

  test.each([{}, { path: "tasks", url: "https://x.test" }])("a registry has exactly one place: %j", (registry) => {
    expect(problemsWith({ datasets: [{ registry, name: "n" }] })).toEqual([
      "datasets[0].registry: needs exactly one of path and url",
    ]);
  });

  test("one from a registry needs its name there, two that lack it are not called the same", () => {
    const nameless = { registry: { url: "https://x.test" } };
    expect(problemsWith({ datasets: [nameless, nameless] })).toEqual([
      "datasets[0].name: is required: the dataset's name in the registry",
      "datasets[1].name: is required: the dataset's name in the registry",
    ]);
  });

  test("only one from a registry has a version", () => {
    expect(problemsWith({ datasets: [{ path: "tasks", version: "1" }] })).toEqual([
      "datasets[0].version: only a dataset from a registry has a version",
    ]);
  });

  test("every path that is not there is told", () => {
    expect(
      problemsWith({
        datasets: [
          { path: "no" },
          { tasks: ["tasks", "./no/task", "/no/where"] },
          { registry: { path: "../no.json" }, name: "n" },
        ],
      }).map((line) => line.replace(/: \S*no\.json/, ": UP/no.json")),
    ).toEqual([
      "datasets[0].path: DIR/no does not exist",
      "datasets[1].tasks[1]: DIR/no/task does not exist",
      "datasets[1].tasks[2]: /no/where does not exist",
      "datasets[2].registry.path: UP/no.json does not exist",
    ]);
  });

  test.each([
    [".", /^rollout-config-/],
    ["a/..", /^rollout-config-/],
    ["tasks/", /^tasks$/],
    ["/", /^root$/],
  ])("the folder %s has a name", (path, name) => {
    const job = folder.define({ agents, datasets: [{ path }] });
    expect(job.datasets[0]?.name).toMatch(name);
  });
});

describe("verifier.paths", () => {
  test("contradict a shared environment", () => {
    expect(problemsWith({ verifier: { environment: "shared", paths: ["/app"] } })).toEqual([
      "verifier.paths: has no effect with verifier.environment: shared",
    ]);
  });

  test.each(["separate", undefined])(
    "are taken when the job says %s, for a task may ask for a separate one",
    (environment) => {
      expect(problemsWith({ verifier: { environment, paths: ["/app"] } })).toEqual([]);
    },
  );
});
