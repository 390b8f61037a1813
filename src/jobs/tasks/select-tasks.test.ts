import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseTaskFile } from "./parse-task-file.ts";
import { selectTasks, type TaskSelection } from "./select-tasks.ts";
import type { Dataset, TaskEntry } from "./task.ts";

function makeTask(datasetName: string, name: string, toml = ""): TaskEntry {
  const { config } = parseTaskFile(toml, "task.toml");
  const common = { name, datasetName, gitCommitId: null };
  if (config !== null) return { ...common, status: "ready", directory: "/x", config, hasSolution: false, warnings: [] };
  return {
    ...common,
    status: "broken",
    directory: null,
    failureType: "task_invalid",
    message: "x",
    problems: [],
    transient: false,
  };
}

function makeDataset(name: string, tasks: readonly TaskEntry[]): Dataset {
  return { name, version: null, source: "x", tasks, pins: [], nConcurrent: null };
}

const datasets = [
  makeDataset("one", [
    makeTask("one", "hello-world", '[metadata]\ntags = ["easy"]\ncategory = "shell"'),
    makeTask("one", "hello-moon", '[metadata]\ntags = ["easy", "space"]'),
    makeTask("one", "install-3.11"),
    makeTask("one", "broken", "= x"),
  ]),
  makeDataset("two", [makeTask("two", "hello-world"), makeTask("two", "weird[1]")]),
];

function select(selection: Partial<TaskSelection>, from: readonly Dataset[] = datasets): string[] {
  const all = { include: [], exclude: [], tags: [], categories: [], limit: null, sample: null, seed: 0 };
  return selectTasks(from, { ...all, ...selection }).flatMap((dataset) =>
    dataset.tasks.map((task) => `${dataset.name}/${task.name}`),
  );
}

describe("globs", () => {
  test("nothing asked keeps everything", () => {
    expect(select({})).toHaveLength(6);
  });

  test("they match a task's name, or its dataset and name", () => {
    expect(select({ include: ["hello-*"] })).toEqual(["one/hello-world", "one/hello-moon", "two/hello-world"]);
    expect(select({ include: ["two/*"] })).toEqual(["two/hello-world", "two/weird[1]"]);
    expect(select({ include: ["{install,hello}-{3.11,moon}"] })).toEqual(["one/hello-moon", "one/install-3.11"]);
    expect(select({ include: ["hello-?orld"], exclude: ["two/hello-world"] })).toEqual(["one/hello-world"]);
  });

  test("a name with the characters of a glob matches itself", () => {
    expect(select({ include: ["weird[1]"] })).toEqual(["two/weird[1]"]);
  });

  test("broken tasks are selected by name too", () => {
    expect(select({ include: ["broken"] })).toEqual(["one/broken"]);
  });
});

describe("tags and categories", () => {
  test("any of the tags, and any of the categories", () => {
    expect(select({ tags: ["space", "easy"] })).toEqual(["one/hello-world", "one/hello-moon"]);
    expect(select({ tags: ["easy"], categories: ["shell"] })).toEqual(["one/hello-world"]);
  });
});

describe("words that match nothing", () => {
  test("they are errors with near names", () => {
    const failure = (selection: Partial<TaskSelection>) => {
      try {
        return select(selection);
      } catch (error) {
        return error;
      }
    };
    expect(failure({ include: ["hello-wrold"] })).toMatchObject({
      code: "config_invalid",
      hint: expect.stringContaining('did you mean "hello-world"?'),
    });
    expect(failure({ include: ["one/hello-wrold"] })).toMatchObject({ hint: expect.stringContaining("hello-world") });
    expect(failure({ tags: ["eazy"] })).toMatchObject({ hint: 'did you mean "easy"? there are: easy, space' });
    expect(failure({ categories: ["games"] })).toMatchObject({ hint: "there are: shell" });
    expect(failure({ exclude: ["*"] })).toMatchObject({
      code: "config_invalid",
      message: "no task is left after selection",
    });
  });
});

describe("limit and sample", () => {
  test("a limit takes the first over all datasets, and datasets without tasks are left out", () => {
    expect(select({ limit: 2 })).toEqual(["one/hello-world", "one/hello-moon"]);
    expect(select({ limit: 5, exclude: ["broken"] })).toHaveLength(5);
  });

  test("a sample is drawn from what the limit left, keeps the order, and is the same for the same seed", () => {
    const names = Array.from({ length: 100 }, (_, index) => makeTask("big", `t${String(index).padStart(3, "0")}`));
    const big = [makeDataset("big", names)];
    const drawn = select({ sample: 10, seed: 7 }, big);
    expect(drawn).toHaveLength(10);
    expect(drawn).toEqual([...drawn].sort());
    expect(select({ sample: 10, seed: 7 }, big)).toEqual(drawn);
    expect(select({ sample: 10, seed: 8 }, big)).not.toEqual(drawn);
    expect(select({ sample: 3, limit: 5, seed: 1 }, big).every((name) => name < "big/t005")).toBe(true);
  });

  test("a larger sample contains a smaller one, and tasks that go take only themselves out of it", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 3, maxLength: 40 }),
        fc.nat(),
        (names, seed) => {
          const from = [
            makeDataset(
              "d",
              names.map((name) => makeTask("d", name)),
            ),
          ];
          const small = select({ sample: 2, seed }, from);
          const large = select({ sample: 3, seed }, from);
          expect(large).toEqual(expect.arrayContaining(small));
          const gone = small[0] ?? "";
          const rest = [
            makeDataset(
              "d",
              names.filter((name) => `d/${name}` !== gone).map((name) => makeTask("d", name)),
            ),
          ];
          expect([...select({ sample: 2, seed }, rest), gone].sort()).toEqual([...large].sort());
        },
      ),
    );
  });
});
