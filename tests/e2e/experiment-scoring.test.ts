import { beforeEach, describe, expect, test } from "vitest";
import { makeRoom, onTerminal, type Ended, type Room } from "./rollout-cli.ts";

interface Aggregate {
  readonly aggregate: string;
  readonly score: number | null;
  readonly error: string | null;
  readonly as_of: string;
}

interface Summary {
  readonly exit_code: number;
  readonly params: Readonly<Record<string, unknown>>;
  readonly duration_sec: number;
  readonly average_scores: Readonly<Record<string, number | null>>;
  readonly aggregates: readonly Aggregate[];
  readonly aggregate_scores: Readonly<Record<string, number | null>>;
  readonly scorings: readonly { readonly at: string; readonly file: string; readonly evaluators: readonly string[] }[];
}

const task = `
import { defineExperiment } from "rollout-eval/experiments";
export default defineExperiment({
  name: "double",
  params: { factor: 2, note: "plain" },
  task: (input: number, { params }) => {
    if (input === Number(process.env["BAD"])) throw new Error("no such number");
    return params.factor * input;
  },
  evaluators: {
    right: ({ output, expected }) => ({ score: output === expected ? 1 : 0.5, label: output === expected ? "fine" : "off" }),
  },
  aggregates: {
    worst: async ({ results }) => Math.min(...(await results.scores("right"))),
    best: async ({ results }) => {
      if (process.env["BAD_AGGREGATE"]) throw new Error("nothing to compare");
      return { score: Math.max(...(await results.scores("right"))), label: "top" };
    },
  },
});
`;

const later = `
import { defineExperiment } from "rollout-eval/experiments";
export default defineExperiment({
  task: () => null,
  evaluators: { right: () => 0, short: () => 1 },
  aggregates: { worst: async ({ results }) => Math.min(...(await results.scores("right"))) },
});
`;

let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  const examples = Array.from({ length: 4 }, (_, n) =>
    JSON.stringify({ id: `e${n}`, input: n, output: n < 3 ? 2 * n : 0 }),
  );
  await room.write("examples.jsonl", examples.join("\n"));
  await room.write("double.ts", task);
  await room.write("later.ts", later);
});

interface ShownRun {
  readonly sessions: readonly { readonly duration_sec: number }[];
  readonly details: { readonly scorings: readonly object[] };
}

function read({ stdout, stderr }: Ended): Summary {
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as Summary;
}

const begin = ["experiment", "double.ts", "--dataset", "examples.jsonl", "--name", "x"];

/** What a person reads of the results, without where they are and what may be typed next. */
function upToResults(text: string): string {
  return text.slice(0, text.indexOf("results  "));
}

describe.each([
  { where: "a store", words: [], shown: "x" },
  { where: "a directory", words: ["--output-dir", "out"], shown: "out/x" },
])("an experiment in $where that is scored again", ({ words, shown }) => {
  const show = (...more: string[]): Promise<Ended> => room.run(["show", shown, ...more]);

  test("keeps the aggregates that the new file does not have, and makes the others new", async () => {
    const first = read(await room.run([...begin, ...words, "--json"]));
    expect(first.aggregate_scores).toEqual({ worst: 0.5, best: 1 });
    const second = read(await room.run(["experiment", "score", "x", "later.ts", ...words, "--json"]));
    expect(second.aggregate_scores).toEqual({ best: 1, worst: 0 });
    const [before, after] = [first, second].map(({ aggregates }) => aggregates.find((one) => one.aggregate === "best"));
    expect(after?.as_of).toBe(before?.as_of);
    const { stdout } = await show();
    expect(stdout).toMatch(/best +1\.0 +top; from before it was scored again/);
    expect(stdout).toMatch(/worst +0\.0 *\n/);
  });

  test("is told alike by the scoring and by show, with the time its runs took and who scored it", async () => {
    const first = read(await room.run([...begin, ...words, "--json"]));
    const scored = await room.run(["experiment", "score", "x", "later.ts", ...words]);
    expect(scored.code, scored.stderr).toBe(0);
    const { stdout } = await show();
    expect(upToResults(stdout)).toBe(upToResults(scored.stdout));
    expect(stdout).toContain("scored again");
    expect(stdout).toContain("by later.ts: right, short");
    const { run } = JSON.parse((await show("--json")).stdout) as { run: ShownRun };
    expect(run.sessions.map(({ duration_sec: sec }) => sec)).toEqual([first.duration_sec]);
    expect(run.details.scorings).toMatchObject([{ file: "later.ts", evaluators: ["right", "short"] }]);
  });

  test("still tells of its scoring after it was gone on with", async () => {
    expect((await room.run([...begin, ...words], { env: { BAD: "1" } })).code).toBe(3);
    const scored = await room.run(["experiment", "score", "x", "later.ts", ...words]);
    // The task that failed is not run again by scoring once more.
    expect(scored.code).toBe(3);
    expect(scored.stdout).not.toContain("rollout experiment score");
    const resumed = read(await room.run(["experiment", "double.ts", "--resume", "x", ...words, "--json"]));
    expect(resumed.average_scores).toHaveProperty("short", 1);
    expect(resumed.scorings).toHaveLength(1);
  });
});

test("labels are counted in the summary, and stand with their evaluations in show and in JSON", async () => {
  const end = await room.run([...begin, "--repetitions", "2"]);
  expect(end.stdout, end.stderr).toContain("labels  right: fine 6, off 2");
  expect((await room.run(["show", "x"])).stdout).toContain("labels  right: fine 6, off 2");
  const one = await room.run(["show", "x", "--item", "e3#2"]);
  expect(one.stdout).toMatch(/^example +e3#2\n[^]*right +0\.50; off\n/);
  expect(one.stdout).not.toContain("{");
  const { units } = JSON.parse((await room.run(["show", "x", "--json"])).stdout) as {
    units: { scores: { label: string }[] }[];
  };
  expect(units.map(({ scores }) => scores[0]?.label)).toEqual([...Array<string>(6).fill("fine"), "off", "off"]);
});

test("an aggregate that fails is in the exit code and in the JSON, and is asked again by --resume", async () => {
  const end = await room.run([...begin, "--json"], { env: { BAD_AGGREGATE: "1" } });
  expect(end.code).toBe(3);
  const failed = read(end).aggregates.find(({ aggregate }) => aggregate === "best");
  expect(failed).toMatchObject({ score: null, error: "nothing to compare" });
  const again = await room.run(["experiment", "double.ts", "--resume", "x", "--json"]);
  expect(again.code, again.stderr).toBe(0);
  expect(read(again).aggregate_scores).toEqual({ worst: 0.5, best: 1 });
});

test("one that came to its end is not said to be unfinished because something in it failed", async () => {
  const end = await room.run(begin, { env: { BAD: "1" } });
  expect(end.code).toBe(3);
  expect(end.stdout).toContain("failures: 1 by the task");
  expect(end.stdout).toContain("--resume x");
  const { stdout } = await room.run(["show", "x"]);
  expect(stdout).toContain("completed in");
  expect(stdout).not.toContain("not finished");
  expect(stdout).toMatch(/next +rollout experiment double\.ts --resume x\n/);
});

test("its parameters are told when it begins, in the summary, by show and in the JSON", async (context) => {
  const words = [...begin, "--param", "factor=3"];
  const end = await room.run(words);
  expect(end.stderr).toContain("params factor=3, note=plain");
  expect(end.stdout).toContain("params factor=3, note=plain");
  expect((await room.run(["show", "x"])).stdout).toContain("params factor=3, note=plain");
  const live = onTerminal(context, [...words, "--name", "y", "--dry-run"]);
  const { stdout } = await room.start([], live).ended;
  expect(stdout.split("params factor=3, note=plain").length - 1).toBe(2);
  const dry = await room.run([...words, "--dry-run", "--json"]);
  expect(read(dry).params).toEqual({ factor: 3, note: "plain" });
});

test("with --quiet a failure is told on one line", async () => {
  const end = await room.run([...begin, "--quiet"], { env: { BAD: "1" } });
  expect(end.code).toBe(3);
  expect(end.stdout).toBe("");
  expect(end.stderr).toBe("rollout: x: 1 of 4 runs failed; first e1#1: no such number; see: rollout show x\n");
  expect((await room.run([...begin, "--quiet", "--name", "y"])).stderr).toBe("");
});

test("what passes is what --pass-at says, and show knows it", async () => {
  const { stdout, stderr } = await room.run([...begin, "--pass-at", "0.5"]);
  expect(stdout, stderr).toContain("4 passed");
  const shown = (await room.run(["show", "x"])).stdout;
  expect(shown).toContain("4 passed");
  expect(shown).toContain("right ≥ 0.5");
  const other = await room.run(["experiment", "double.ts", "--resume", "x", "--pass-at", "1"]);
  expect(other.stderr).toContain("--pass-at was 0.5, not 1");
  expect((await room.run([...begin, "--name", "z"])).stdout).toContain("3 passed");
});
