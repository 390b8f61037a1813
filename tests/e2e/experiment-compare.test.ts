import { beforeEach, describe, expect, test } from "vitest";
import { makeRoom, type Ended, type Room } from "./rollout-cli.ts";

const file = `
import { defineExperiment } from "rollout-eval/experiments";
export default defineExperiment({
  name: "guess",
  params: { offset: 0 },
  task: (input: number, { params }) => {
    if (input === Number(process.env["BAD"])) throw new Error("no such number");
    return input + params.offset;
  },
  evaluators: {
    right: ({ output, expected }) => (output === expected ? 1 : 0),
    near: ({ output, expected }) => 1 - Math.abs(Number(output) - Number(expected)) / 10,
  },
});
`;

let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  // Without an offset 2 of 6 are right; with 1 the other 4.
  const examples = Array.from({ length: 6 }, (_, n) => ({ id: `e${n}`, input: n, output: n < 2 ? n : n + 1 }));
  await room.write("examples.jsonl", examples.map((one) => JSON.stringify(one)).join("\n"));
  await room.write(
    "fewer.jsonl",
    [{ ...examples[0], input: 9 }, ...examples.slice(1, 4)].map((one) => JSON.stringify(one)).join("\n"),
  );
  await room.write("guess.ts", file);
});

function run(name: string, ...more: string[]): Promise<Ended> {
  const dataset = more.includes("--dataset") ? [] : ["--dataset", "examples.jsonl"];
  return room.run(["experiment", "guess.ts", "--name", name, "--quiet", ...dataset, ...more]);
}

async function readJson<T>(...words: string[]): Promise<T> {
  const { code, stdout, stderr } = await room.run([...words, "--json"]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as T;
}

describe.each([
  { where: "a store", words: [] },
  { where: "a directory", words: ["--output-dir", "out"] },
])("experiments in $where", ({ words }) => {
  test("are listed, newest first, with what became of them", async () => {
    await run("one", ...words);
    await run("two", "--param", "offset=1", ...words);
    const { code, stdout, stderr } = await room.run(["list", ...words.slice(1)]);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/run +name[^]*two +two +experiment +completed +guess +examples\.jsonl[^]*67%[^]*one +one/);
    const { runs } = await readJson<{ runs: { id: string; status: string }[] }>("list", ...words.slice(1));
    expect(runs.map(({ id, status }) => [id, status])).toEqual([
      ["two", "completed"],
      ["one", "completed"],
    ]);
  });

  test("are compared example by example, with an interval of the difference", async () => {
    await run("one", ...words, "--repetitions", "2");
    await run("two", "--param", "offset=1", ...words);
    const compared = await readJson<Record<string, unknown>>("experiment", "compare", "one", "two", ...words);
    expect(compared).toMatchObject({
      before: { id: "one", params: { offset: 0 } },
      after: { id: "two", params: { offset: 1 } },
      examples: { paired: 6, only_before: 0, only_after: 0, other_input: 0 },
      evaluators: [
        {
          evaluator: "right",
          pairs: 6,
          same: 0,
          missing: 0,
          better: ["e2", "e3", "e4", "e5"].map((id) => ({ example_id: id, before: 0, after: 1 })),
          worse: ["e0", "e1"].map((id) => ({ example_id: id, before: 1, after: 0 })),
          interval: { level: 0.95 },
        },
        { evaluator: "near" },
      ],
    });
    const [right] = compared["evaluators"] as { difference: number; interval: { low: number; high: number } }[];
    expect(right?.difference).toBeCloseTo(1 / 3);
    // Differences -1 -1 1 1 1 1: sd 1.0328, t(5) 2.5706.
    expect(right?.interval.low).toBeCloseTo(1 / 3 - (2.5706 * 1.0328) / Math.sqrt(6), 3);
    const { stdout } = await room.run(["experiment", "compare", "one", "two", ...words]);
    expect(stdout).toContain("param   offset: 0 -> 1");
    expect(stdout).toMatch(/right +0\.33 +0\.67 +\+0\.33 +-0\.75 to \+1\.0 +4 +2/);
    expect(stdout).toContain("right worse: e0 1.0 -> 0.0, e1 1.0 -> 0.0");
  });
});

test("what only one of two experiments has, or has with another input, is left out and told", async () => {
  await run("one", "--output-dir", "out");
  await run("two", "--dataset", "fewer.jsonl");
  // One is in a directory, the other in the store.
  const { examples } = await readJson<{ examples: object }>("experiment", "compare", "out/one", "two");
  expect(examples).toEqual({ paired: 3, only_before: 2, only_after: 0, other_input: 1 });
  const { stdout } = await room.run(["experiment", "compare", "out/one", "two"]);
  expect(stdout).toContain("3 examples in both; left out: 2 only before, 1 with another input");
  expect((await room.run(["experiment", "compare", "out/one", "nobody"])).code).toBe(2);
});

test("an experiment in a directory goes by its path or by its id and --output-dir, everywhere", async () => {
  await room.run(
    ["experiment", "guess.ts", "--dataset", "examples.jsonl", "--name", "x", "--output-dir", "out", "-q"],
    {
      env: { BAD: "4" },
    },
  );
  for (const words of [["out/x"], ["x", "--output-dir", "out"]]) {
    expect((await room.run(["show", ...words])).stdout).toContain("1 failed");
    expect((await room.run(["experiment", "score", words[0] ?? "", "guess.ts", ...words.slice(1)])).code).toBe(3);
  }
  const taken = await run("x", "--output-dir", "out");
  expect(taken.stderr).toContain("--resume out/x");
  const resumed = await room.run(["experiment", "guess.ts", "--resume", "out/x"]);
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(resumed.stderr).toContain("resuming x: 5 of 6 runs have an output, 1 left (1 failed before)");
});

test("--resume cannot be combined with --name or --dry-run", async () => {
  await run("x");
  for (const more of [["--name", "y"], ["--dry-run"]]) {
    const { code, stderr } = await room.run(["experiment", "guess.ts", "--resume", "x", ...more]);
    expect(code).toBe(2);
    expect(stderr).toContain(`${more[0]} cannot be combined with --resume`);
  }
});
