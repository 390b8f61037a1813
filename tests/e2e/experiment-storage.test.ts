import { beforeEach, describe, expect, test } from "vitest";
import { makeRoom, type Ended, type Room } from "./rollout-cli.ts";
import { mountSmallDisk } from "./small-disk.ts";

interface Outcome {
  readonly successful_runs: number;
  readonly failed_runs: number;
  readonly failed_evaluations: number;
  readonly average_scores: Readonly<Record<string, number | null>>;
}

interface Shown {
  readonly run: { readonly kind: string; readonly status: string; readonly datasets: readonly object[] };
  readonly units: readonly {
    readonly key: string;
    readonly labels: { readonly example: string };
    readonly output: unknown;
    readonly failure: object | null;
    readonly scores: readonly { readonly name: string; readonly value: number | null }[];
  }[];
}

/** Notes every call; what goes wrong is up to BAD_TASK and BAD_EVAL. */
const executor = `
import json, os, sys, time
slow = float(os.environ.get("SLOW", "0"))
def say(message): print(json.dumps(message), flush=True)
def note(file, text): open(file, "a").write(text + "\\n")
names = os.environ.get("EVALUATORS", "right,small").split(",")
for line in sys.stdin:
    command = json.loads(line)
    cmd = command["cmd"]
    if cmd == "discover":
        say({"protocol_version": "1.0", "name": "double", "evaluators": names, "params": {"factor": 2}})
    elif cmd == "init": say({"ok": True})
    elif cmd == "run_task":
        task = command["input"]
        note("calls.txt", task["run_id"])
        time.sleep(slow)
        if task["id"] == os.environ.get("BAD_TASK"): say({"run_id": task["run_id"], "error": "a bad task"})
        else: say({"run_id": task["run_id"], "output": task["params"]["factor"] * int(task["input"])})
    elif cmd == "run_eval":
        value, [name] = command["input"], command["evaluators"]
        run_id = value["run_id"]
        note("evals.txt", run_id + " " + name)
        time.sleep(slow / 2)
        right = str(value["actual_output"]) == str(value.get("expected_output"))
        if value["example"]["id"] == os.environ.get("BAD_EVAL") and name == "small":
            say({"run_id": run_id, "evaluator": name, "error": "a bad evaluation"})
        else: say({"run_id": run_id, "evaluator": name, "score": float(right) if name == "right" else 0.25})
    elif cmd == "shutdown": say({"ok": True}); break
`;

const count = 6;
let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  const examples = Array.from({ length: count }, (_, n) => JSON.stringify({ id: `e${n}`, input: n, output: 2 * n }));
  await room.write("examples.jsonl", examples.join("\n"));
  await room.write("double.py", executor);
});

const begin = ["experiment", "double.py", "--dataset", "examples.jsonl", "--name", "x"];
const resume = ["experiment", "double.py", "--resume", "x"];

function run(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return room.run([...words, "--executor", "python3", "--json"], { env });
}

function read({ stdout, stderr }: Ended): Outcome {
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as Outcome;
}

async function noted(file: string): Promise<string[]> {
  return (await room.read(file).catch(() => "")).split("\n").slice(0, -1);
}

describe.each([
  { where: "a store", words: [], shown: ["x"] },
  { where: "a directory", words: ["--output-dir", "out"], shown: ["out/x"] },
])("an experiment in $where", ({ words, shown }) => {
  const show = async (...more: string[]): Promise<Shown> => {
    const { code, stdout, stderr } = await room.run(["show", ...shown, "--json", ...more]);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as Shown;
  };

  test("can be shown: all of it, or one example", async () => {
    const end = await run([...begin, ...words]);
    expect(end.code, end.stderr).toBe(0);
    const { run: record, units } = await show();
    expect(record).toMatchObject({ kind: "experiment", status: "completed", is_resumable: false });
    expect(units.map(({ labels, output }) => [labels.example, output])).toEqual(
      Array.from({ length: count }, (_, n) => [`e${n}`, 2 * n]),
    );
    const summary = await room.run(["show", ...shown]);
    expect(summary.stdout).toContain("double");
    expect(summary.stdout).toContain("small");
    expect(summary.stdout).not.toContain("not finished");
    expect((await room.run(["show", ...shown, "--item", "e3"])).stdout).toMatch(
      /output +6[^]*right +1[^]*small +0\.25/,
    );
  });

  test("that was killed goes on where it was: no task and no evaluation is done twice", async () => {
    const running = room.start(
      [...begin, ...words, "--executor", "python3", "--repetitions", "2", "--max-workers", "2"],
      { env: { SLOW: "0.2" } },
    );
    await expect.poll(() => noted("evals.txt"), { timeout: 30_000 }).toHaveLength(7);
    running.kill("SIGKILL");
    await running.ended;
    const { units } = await show();
    const unfinished = await room.run(["show", ...shown]);
    expect(unfinished.stdout).toContain("rollout experiment double.py --resume x");
    const evaluated = units.flatMap(({ scores }) => scores).length;
    expect(units.length).toBeGreaterThan(1);
    const [calls, evals] = [(await noted("calls.txt")).length, (await noted("evals.txt")).length];
    const end = await run([...resume, ...words]);
    expect(end.code, end.stderr).toBe(0);
    expect(read(end)).toMatchObject({ successful_runs: 2 * count, average_scores: { right: 1, small: 0.25 } });
    expect((await noted("calls.txt")).length - calls).toBe(2 * count - units.length);
    expect((await noted("evals.txt")).length - evals).toBe(4 * count - evaluated);
    const after = await show();
    expect(after.units).toHaveLength(2 * count);
    expect(after.units.every(({ scores }) => scores.length === 2)).toBe(true);
    expect(after.units.map(({ key }) => key)).toEqual(
      Array.from({ length: 2 * count }, (_, at) => `e${at >> 1}#${(at % 2) + 1}`),
    );
  });

  test("runs again what failed, and that alone", async () => {
    const first = await run([...begin, ...words], { BAD_TASK: "e1", BAD_EVAL: "e2" });
    expect(first.code).toBe(3);
    expect(read(first)).toMatchObject({ successful_runs: 5, failed_runs: 1, failed_evaluations: 1 });
    const [calls, evals] = [await noted("calls.txt"), await noted("evals.txt")];
    const end = await run([...resume, ...words]);
    expect(end.code, end.stderr).toBe(0);
    expect(read(end)).toMatchObject({ successful_runs: 6, failed_evaluations: 0, average_scores: { right: 1 } });
    expect((await noted("calls.txt")).slice(calls.length)).toEqual(["e1#1"]);
    expect((await noted("evals.txt")).slice(evals.length).toSorted()).toEqual([
      "e1#1 right",
      "e1#1 small",
      "e2#1 small",
    ]);
    const { run: record, units } = await show();
    expect(record).toMatchObject({ status: "completed", is_resumable: false });
    expect(units.filter(({ failure }) => failure !== null)).toEqual([]);
    // Once more: there is nothing left.
    expect((await run([...resume, ...words])).code).toBe(0);
    expect(await noted("calls.txt")).toHaveLength(calls.length + 1);
  });

  test("is not gone on with as another one", async () => {
    await run([...begin, ...words, "--param", "factor=3"]);
    const calls = await noted("calls.txt");
    const refusals: [string[], Record<string, string>, string][] = [
      [["--param", "factor=4"], {}, "parameter factor was 3, not 4"],
      [["--repetitions", "2"], {}, "--repetitions was 1, not 2"],
      [["--dataset", "other.jsonl"], {}, "the examples of examples.jsonl were others"],
      [[], { EVALUATORS: "right" }, 'the list of evaluators was ["right","small"], not ["right"]'],
    ];
    await room.write("other.jsonl", '{"id":"e0","input":1}\n');
    for (const [more, env, message] of refusals) {
      const { code, stderr } = await run([...resume, ...words, ...more], env);
      expect(stderr).toContain(message);
      expect(code).toBe(2);
    }
    const same = await run([...resume, ...words, "--param", "factor=3", "--dataset", "examples.jsonl"]);
    expect(same.code, same.stderr).toBe(0);
    expect(await noted("calls.txt")).toEqual(calls);
    expect((await run([...begin, ...words])).stderr).toMatch(/already holds an experiment|exists already/);
  });

  test("is scored again without running its tasks", async () => {
    await run([...begin, ...words, "--repetitions", "2"], { BAD_TASK: "e1" });
    const calls = await noted("calls.txt");
    await room.write("more.py", executor.replace("else 0.25", "else 0.75"));
    const score = ["experiment", "score", "x", "more.py", ...words];
    const end = await run(score, { EVALUATORS: "small,new" });
    // The tasks that failed still have no marks.
    expect(end.code, end.stderr).toBe(3);
    expect(read(end)).toMatchObject({ successful_runs: 10, average_scores: { right: 1, small: 0.75, new: 0.75 } });
    expect(await noted("calls.txt")).toEqual(calls);
    const { units } = await show();
    const marks = units.map(({ scores }) => Object.fromEntries(scores.map(({ name, value }) => [name, value])));
    expect(marks.filter((each) => Object.keys(each).length > 0)).toEqual(
      Array.from({ length: 10 }, () => ({ right: 1, small: 0.75, new: 0.75 })),
    );
    expect((await room.run(["show", ...shown])).stdout).toContain("new");
    expect((await run(["experiment", "score", "nobody", "more.py", ...words])).code).toBe(2);
  });

  test("takes a stored dataset of a version, and goes on with that version", async () => {
    await room.write("list.csv", "id,input,expected_output\na,1,2\nb,2,4\n");
    expect((await room.run(["dataset", "import", "list.csv"])).code).toBe(0);
    await room.write("list.csv", "id,input,expected_output\nc,9,18\n");
    expect((await room.run(["dataset", "import", "list.csv"])).code).toBe(0);
    const old = ["experiment", "double.py", "--name", "x", "--dataset", "list@1", ...words];
    expect(read(await run(old, { BAD_TASK: "b" }))).toMatchObject({ successful_runs: 1, failed_runs: 1 });
    const end = await run([...resume, ...words]);
    expect(end.code, end.stderr).toBe(0);
    const { run: record, units } = await show();
    expect(record.datasets).toMatchObject([{ name: "list", version: "1" }]);
    expect(units.map(({ labels }) => labels.example)).toEqual(["a", "b"]);
    const other = await run([...resume, ...words, "--dataset", "list"]);
    expect(other.stderr).toContain("the version of the dataset was 1, not 2");
  });

  test("that fills the disk says so, keeps what came before, and goes on when there is room", async (context) => {
    const disk = mountSmallDisk(context, room, 1 << 20);
    const large = Array.from({ length: 60 }, (_, n) =>
      JSON.stringify({ id: `e${n}`, input: n, metadata: { text: "x".repeat(5000) } }),
    );
    await room.write("examples.jsonl", large.join("\n"));
    const place = words.length === 0 ? ["--store", "jobs/store.db"] : ["--output-dir", "jobs"];
    await room.write(
      "double.py",
      executor.replace('"output": task', '"metadata": {"text": "y" * 40000}, "output": task'),
    );
    const end = await run([...begin, ...place]);
    expect(end.stderr).toMatch(/no space left on device|the disk is full/);
    expect(end.stderr).toContain("resume with: rollout experiment double.py --resume x");
    expect(end.stderr).not.toContain("bug");
    expect(end.code).toBe(70);
    const done = (await noted("calls.txt")).length;
    expect(done).toBeLessThan(60);
    disk.resize(64 << 20);
    const resumed = await run([...resume, ...place]);
    expect(read(resumed)).toMatchObject({ successful_runs: 60, failed_runs: 0 });
    expect((await noted("calls.txt")).length).toBeLessThan(60 + 10);
  });
});

test("the name of a dataset that is neither a file nor stored is told", async () => {
  for (const [word, message] of [
    ["nothing.jsonl", "nothing.jsonl does not exist"],
    ["nothing", 'neither a file nor a stored dataset "nothing"'],
  ] as const) {
    const { code, stderr } = await run(["experiment", "double.py", "--dataset", word, "--output-dir", "out"]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  }
  const missing = await run(["experiment", "double.py"]);
  expect(missing.stderr).toContain("--dataset");
  expect(missing.code).toBe(2);
});
