import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyOverrides, parseSet } from "./overrides.ts";
import { openJobFolder, type JobFolder } from "./testing/job-folder.ts";

describe("parseSet", () => {
  test.each<[string, (string | number)[], unknown]>([
    ["n_attempts=3", ["n_attempts"], 3],
    ["environment.override_cpus=2", ["environment", "override_cpus"], 2],
    ["agents[0].env.MODEL=x", ["agents", 0, "env", "MODEL"], "x"],
    ["agents[12].name=y", ["agents", 12, "name"], "y"],
    ['environment.provider_config["a.b/c"]=1', ["environment", "provider_config", "a.b/c"], 1],
    ['["name"]=x', ["name"], "x"],
    ['x["a=b"]=c=d', ["x", "a=b"], "c=d"],
    ['x["a\\"b"].c=1', ["x", 'a"b', "c"], 1],
    ["name=a=b", ["name"], "a=b"],
    ["name=", ["name"], null],
    ["name=~", ["name"], null],
    ["name='5'", ["name"], "5"],
    ["verifier.disable=true", ["verifier", "disable"], true],
    ["metrics=[{type: mean}]", ["metrics"], [{ type: "mean" }]],
    [
      "environment.network.agent={allow: [example.org]}",
      ["environment", "network", "agent"],
      { allow: ["example.org"] },
    ],
    ["name=[oops", ["name"], "[oops"],
    ["name=*oops", ["name"], "*oops"],
    ["name=#1", ["name"], "#1"],
    ["name=!bang", ["name"], "!bang"],
    ["name=&and", ["name"], "&and"],
  ])("reads %s", (text, path, value) => {
    expect(parseSet(text)).toMatchObject({ path, value, label: `--set ${text}` });
  });

  test.each([
    ["n_attempts", "--set n_attempts: expected key=value"],
    ["=3", "--set =3: expected key=value"],
    ["", "--set : expected key=value"],
    ["a..b=1", '--set a..b=1: "a..b" is not a key'],
    [".a=1", '--set .a=1: ".a" is not a key'],
    ["a.=1", '--set a.=1: "a." is not a key'],
    ["agents[x].name=1", '--set agents[x].name=1: "agents[x].name" is not a key'],
    ["agents[0=1", '--set agents[0=1: "agents[0" is not a key'],
    ['a["b=1', '--set a["b=1: "a["b" is not a key'],
  ])("refuses %j", (text, message) => {
    expect(() => parseSet(text)).toThrow(expect.objectContaining({ code: "usage_invalid", message }));
  });
});

describe("applyOverrides", () => {
  const apply = (value: unknown, ...sets: string[]): unknown => applyOverrides(value, sets.map(parseSet)).value;

  test("puts values over the file's, adds what is not there and leaves the rest", () => {
    const file = { n_attempts: 1, agents: [{ name: "a", env: { A: "1" } }] };
    expect(apply(file, "n_attempts=3", "agents[0].env.B=2", "retry.multiplier=3", "agents[1].name=nop")).toEqual({
      n_attempts: 3,
      agents: [{ name: "a", env: { A: "1", B: "2" } }, { name: "nop" }],
      retry: { multiplier: 3 },
    });
    expect(file).toEqual({ n_attempts: 1, agents: [{ name: "a", env: { A: "1" } }] });
  });

  test("the last of two for one key wins", () => {
    expect(apply({}, "n_attempts=1", "n_attempts=2")).toEqual({ n_attempts: 2 });
  });

  test("a number between dots is the place in a list, and a key elsewhere", () => {
    expect(apply({ agents: [{ name: "a" }], env: {} }, "agents.0.name=b", "env.0=x")).toEqual({
      agents: [{ name: "b" }],
      env: { "0": "x" },
    });
  });

  test("a table or list is made where nothing stands", () => {
    expect(apply({ environment: null }, "environment.type=local", "datasets[0].path=tasks")).toEqual({
      environment: { type: "local" },
      datasets: [{ path: "tasks" }],
    });
  });

  test("names that every object knows are plain keys", () => {
    const value = apply({}, "constructor.x=1", "__proto__.y=2") as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(["constructor", "__proto__"]);
    expect({}).not.toHaveProperty("y");
  });

  test("keys that are text keep what was typed", () => {
    const file = { agents: [{}], datasets: [{}] };
    expect(
      apply(file, "agents[0].env.V=1.10", "datasets[0].version=2.0", "verifier.env.F=True", "n_attempts=1.0"),
    ).toEqual({
      agents: [{ env: { V: "1.10" } }],
      datasets: [{ version: "2.0" }],
      verifier: { env: { F: "True" } },
      n_attempts: 1,
    });
  });
});

describe("in a job", () => {
  let folder: JobFolder;
  beforeAll(async () => {
    folder = await openJobFolder();
  });
  afterAll(() => folder[Symbol.asyncDispose]());
  const file = "n_attempts: 2\nagents:\n  - name: oracle\ndatasets:\n  - path: tasks\n";

  test("overrides reach the job and its config.json", async () => {
    const job = await folder.load(file, { set: ["n_attempts=5", "environment.provider_config.a.b=1", "jobs_dir=out"] });
    expect(job.nAttempts).toBe(5);
    expect(job.document).toMatchObject({
      n_attempts: 5,
      jobs_dir: `${folder.dir}/out`,
      environment: { provider_config: { a: { b: 1 } } },
    });
  });

  test("an empty value takes the file's away", async () => {
    expect((await folder.load(file, { set: ["n_attempts="] })).nAttempts).toBe(1);
  });

  test("variables in overrides are expanded and stay templates in config.json", async () => {
    const job = await folder.load(file, { set: ["verifier.env.K=${KEY}"], env: { KEY: "value-of-key" } });
    expect(job.verifier.env).toEqual({ K: "value-of-key" });
    expect(job.secrets).toEqual([{ name: "KEY", value: "value-of-key" }]);
    expect(job.document).toMatchObject({ verifier: { env: { K: "${KEY}" } } });
  });

  test.each<[string, string[], string[]]>([
    ["a wrong value", ["n_attempts=0"], ["--set n_attempts=0 n_attempts: must be at least 1, got 0"]],
    [
      "the later of two",
      ["n_attempts=0", "n_attempts=-1"],
      ["--set n_attempts=-1 n_attempts: must be at least 1, got -1"],
    ],
    [
      "an unknown key",
      ["agents[0].exceute=x"],
      ['--set agents[0].exceute=x agents[0].exceute: unknown key; did you mean "execute"?'],
    ],
    [
      "an unknown table",
      ["retyr.multiplier=2"],
      ['--set retyr.multiplier=2 retyr: unknown key; did you mean "retry"?'],
    ],
    [
      "a missing path",
      ["datasets[0].path=none"],
      ["--set datasets[0].path=none datasets[0].path: DIR/none does not exist"],
    ],
    [
      "what a new entry lacks",
      ["agents[1].name=mine"],
      ["--set agents[1].name=mine agents[1].execute: is required: the script that runs the agent"],
    ],
    [
      "a place behind the end of a list",
      ["agents[1000000000].name=x"],
      ["--set agents[1000000000].name=x agents[1000000000]: the list has 1, so the next is agents[1]"],
    ],
    ["a table where a value stands", ["n_attempts.x=1"], ["--set n_attempts.x=1 n_attempts: is not a table"]],
    ["a table where a list stands", ["agents.name=x"], ["--set agents.name=x agents: is not a table"]],
    ["a list where a value stands", ["n_attempts[0]=1"], ["--set n_attempts[0]=1 n_attempts: is not a list"]],
    [
      "an unset variable",
      ["verifier.env.K=${NONE}"],
      [
        "--set verifier.env.K=${NONE} verifier.env.K: ${NONE} is not set; export NONE, or give a default: ${NONE:-value}",
      ],
    ],
  ])("the option is named for %s", async (_, set, expected) => {
    const problems = await folder.problems(file, { set });
    expect(problems.map((line) => line.replaceAll(folder.dir, "DIR"))).toEqual(expected);
  });

  test("a key of the file that only begins like an option's key keeps its own place", async () => {
    const problems = await folder.problems(`${file}n_attempts_x: 1\n`, { set: ["n_attempts=3"] });
    expect(problems).toEqual([expect.stringMatching(/^job\.yaml:6:1 n_attempts_x: unknown key/)]);
  });

  test("an option does not hide that the file is wrong", async () => {
    expect(await folder.problems(`${file}environment: docker\n`, { set: ["environment.override_cpus=2"] })).toEqual([
      "--set environment.override_cpus=2 environment: is not a table",
      'job.yaml:6:14 environment: expected a table, got "docker"',
    ]);
    expect(await folder.problems("- a\n", { set: ["n_attempts=2"] })).toEqual([
      "job.yaml:1:1 expected a table, got a list",
      "--set n_attempts=2 the job is not a table",
    ]);
  });
});
