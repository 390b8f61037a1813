import { beforeEach, describe, expect, test } from "vitest";
import { makeRoom, root, type Ended, type Room } from "./rollout-cli.ts";
import { mountSmallDisk } from "./small-disk.ts";

interface EvalJson {
  readonly exit_code: number;
  readonly runs: readonly {
    readonly id: string;
    readonly name: string;
    readonly status: string;
    readonly plan: { readonly total: number };
    readonly counts: { readonly finished: number; readonly completed: number };
    readonly details: {
      readonly scorers: readonly { readonly scorer_id: string; readonly mean: number | null }[];
    };
  }[];
}

const file = `
import { appendFileSync } from "node:fs";
import { defineEval } from "rollout-eval/datasets";
import { double } from "./double.ts";

function right({ output, groundTruth }: { output: unknown; groundTruth?: unknown }): number {
  return output === groundTruth ? 1 : 0;
}

function short({ output }: { output: unknown }): number {
  return String(output).length < 2 ? 1 : 0;
}

export default defineEval({
  data: Array.from({ length: 20 }, (_, n) => ({ id: "n" + n, input: n, expectedOutput: 2 * n })),
  target: double,
  scorers: [right, short],
});
`;

const target = `
import { appendFileSync } from "node:fs";
export async function double(n: number): Promise<number> {
  appendFileSync("calls.txt", n + "\\n");
  if (process.env["SLOW"]) await new Promise((resolve) => setTimeout(resolve, 100));
  if (process.env["FAIL"] === String(n)) throw new Error("no");
  return 2 * n;
}
`;

let room: Room;
beforeEach(async () => {
  room = await makeRoom();
  await room.write("double.eval.ts", file);
  await room.write("double.ts", target);
});

function read({ stdout }: Ended): EvalJson {
  return JSON.parse(stdout) as EvalJson;
}

describe("rollout eval", () => {
  test("runs a TypeScript file as it is, without this package installed beside it", async () => {
    const { code, stdout, stderr } = await room.run(["eval", "double.eval.ts"]);
    expect(stderr).toContain("double: 20 items, 5 at a time");
    expect(code).toBe(0);
    expect(stdout).toContain("20 items · ");
    expect(stdout).toMatch(/right\s+1\.0/);
    expect(stdout).toMatch(/short\s+0\.25/);
    expect(stdout).toMatch(/next\s+rollout show [0-9a-f-]{36}/);
  });

  test("a file with import and export is a module, whatever type its package has", async () => {
    await room.write("package.json", '{ "type": "commonjs" }');
    expect(await room.run(["eval", "double.eval.ts", "--quiet"])).toMatchObject({ code: 0, stderr: "" });
    await room.write(
      "old.eval.js",
      `const { basename } = require("node:path");
       exports.old = { data: [{ input: "a/b" }], target: (path) => basename(path) };`,
    );
    expect(await room.run(["eval", "old.eval.js", "--quiet"])).toMatchObject({ code: 0, stderr: "" });
  });

  test("an item that fails costs the exit code and nothing else", async () => {
    const end = await room.run(["eval", "double.eval.ts", "--json"], { env: { FAIL: "3" } });
    expect(end.code).toBe(3);
    expect(read(end).runs[0]).toMatchObject({
      status: "completed",
      counts: { completed: 19, failed: 1 },
      plan: { total: 20 },
    });
    const told = await room.run(["eval", "double.eval.ts"], { env: { FAIL: "3" } });
    expect(told.stdout).toContain("failures: 1 by the target");
  });

  test("what is typed wins over what the file says", async () => {
    const end = await room.run([
      "eval",
      "double.eval.ts",
      "--limit",
      "4",
      "--scorer",
      "short",
      "--repeats",
      "2",
      "--json",
    ]);
    expect(read(end).runs[0]).toMatchObject({
      plan: { total: 8 },
      details: { scorers: [{ scorer_id: "short", mean: 1 }] },
    });
    const sampled = await room.run(["eval", "double.eval.ts", "--sample", "5", "--seed", "1", "--json", "--no-store"]);
    expect(read(sampled).runs[0]).toMatchObject({ plan: { total: 5 } });
  });

  test("what passes is said, and repeats are counted as runs of items", async () => {
    const { stdout } = await room.run(["eval", "double.eval.ts", "--repeats", "2", "--limit", "3", "--no-store"]);
    expect(stdout).toContain("6 runs of 3 items · ");
    expect(stdout).toContain("pass (right ≥ 1)");
  });

  test("a scorer, a run, a file or an option that is not there is named before anything starts", async () => {
    const wrong = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await room.run(["eval", ...args]);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await wrong("double.eval.ts", "--scorer", "rigth")).toContain('did you mean "right"?');
    expect(await wrong("double.eval.ts", "--only", "treble")).toContain("known: double");
    expect(await wrong("double.eval.ts", "--seed", "7")).toContain("say how many with --sample");
    expect(await wrong("nothing.eval.ts")).toContain("is no file");
    expect(await wrong("double.eval.ts", "--dataset", "unknown")).toContain('there is no dataset "unknown"');
    expect(await wrong("double.eval.ts", "--dataset", "d", "--no-store")).toContain("leave out --no-store");
    expect(await wrong("double.eval.ts", "--resume", "nobody")).toContain('no run "nobody"');
    await room.write("empty.eval.ts", "export const nothing = 1;");
    expect(await wrong("empty.eval.ts")).toContain("exports nothing to run");
    await room.write("broken.eval.ts", 'import "./missing.ts";');
    expect(await wrong("broken.eval.ts")).toContain("cannot be loaded");
    expect(await room.read("calls.txt").catch(() => "none")).toBe("none");
  });

  test("a file may export several runs, in lists and from functions", async () => {
    await room.write(
      "many.eval.ts",
      `const data = [{ input: 1 }];
       export const first = { data, target: (n: number) => n };
       export const others = async () => [{ name: "second", data, target: (n: number) => n }];
       export default async () => [{ name: "third", data, target: (n: number) => n }];`,
    );
    const { runs } = read(await room.run(["eval", "many.eval.ts", "--json"]));
    expect(runs.map(({ name }) => name).sort()).toEqual(["first", "third"]);
    expect(read(await room.run(["eval", "many.eval.ts", "--json", "--only", "first"])).runs).toHaveLength(1);
  });

  test.for([
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
  ] as const)("%s ends a run with %i", async ([signal, exitCode]) => {
    const running = room.start(["eval", "double.eval.ts", "--concurrency", "2", "--json"], { env: { SLOW: "1" } });
    await expect.poll(() => room.read("calls.txt").catch(() => ""), { timeout: 30_000 }).toContain("4\n");
    running.kill(signal);
    const { code, stderr } = await running.ended;
    expect(code).toBe(exitCode);
    expect(stderr).toContain(`item_cancelled: the run was cancelled by ${signal}`);
  });

  test("Ctrl-C keeps what is done, and --resume runs the rest and nothing twice", async () => {
    const running = room.start(["eval", "double.eval.ts", "--concurrency", "2", "--json"], { env: { SLOW: "1" } });
    await expect.poll(() => room.read("calls.txt").catch(() => ""), { timeout: 30_000 }).toContain("4\n");
    running.kill("SIGINT");
    const cut = await running.ended;
    expect(cut.code).toBe(130);
    expect(cut.stderr).toContain("item_cancelled: the run was cancelled by SIGINT");
    const [first] = read(cut).runs;
    expect(first?.counts.completed).toBeLessThan(20);

    const before = (await room.read("calls.txt")).split("\n").length - 1;
    const resumed = await room.run(["eval", "double.eval.ts", "--resume", "--json"]);
    expect(resumed.code).toBe(0);
    expect(read(resumed).runs[0]).toMatchObject({ id: first?.id, counts: { finished: 20, completed: 20 } });
    const calls = (await room.read("calls.txt")).trim().split("\n");
    expect(calls.length - before).toBe(20 - (first?.counts.completed ?? 0));
    expect(new Set(calls).size).toBe(20);
  });

  test("a killed run is no longer taken for a running one, and is taken up where it was", async () => {
    const running = room.start(["eval", "double.eval.ts", "--concurrency", "2"], { env: { SLOW: "1" } });
    await expect.poll(() => room.read("calls.txt").catch(() => ""), { timeout: 30_000 }).toContain("6\n");
    running.kill("SIGKILL");
    await running.ended;
    const resumed = await room.run(["eval", "double.eval.ts", "--resume", "--json"]);
    expect(read(resumed).runs[0]).toMatchObject({ counts: { completed: 20 }, plan: { total: 20 } });
    const calls = (await room.read("calls.txt")).trim().split("\n");
    // Only what was in flight at the kill can have been called twice.
    expect(calls.length).toBeLessThanOrEqual(22);
  });

  test("--json=events writes a line for every event", async () => {
    const { stdout } = await room.run(["eval", "double.eval.ts", "--json=events"]);
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string });
    expect(events.filter(({ type }) => type === "unit_finished")).toHaveLength(20);
    expect(events.at(-1)?.type).toBe("run_finished");
  });

  test("--watch runs again when a file it imports changes, and ends on a signal", async () => {
    const running = room.start(["eval", "double.eval.ts", "--watch"]);
    let output = "";
    running.child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    running.child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    await expect.poll(() => output, { timeout: 30_000 }).toContain("watching 2 files");
    await room.write("double.ts", target.replace("return 2 * n", "return 3 * n"));
    await expect.poll(() => output, { timeout: 30_000 }).toMatch(/double\.ts changed; running again[^]*5%/);
    running.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
  });
});

test("the example runs on its own messages and on the same ones as a dataset", async () => {
  const example = `${root}/examples/support-triage`;
  const own = await room.run(["eval", `${example}/triage.eval.ts`]);
  expect(own.code, own.stderr).toBe(0);
  expect(own.stdout).toContain("6 items · 4 passed · 2 not passed");
  expect(own.stdout).toMatch(/queue-f1\s+0\.82/);
  await room.run(["dataset", "import", `${example}/messages.jsonl`, "--name", "messages"]);
  const stored = await room.run(["eval", `${example}/triage.eval.ts`, "--dataset", "messages@1", "--json"]);
  expect(read(stored).runs[0]?.details.scorers[0]).toMatchObject({ scorer_id: "json-equals", mean: 4 / 6 });
});

describe("code of a person's own", () => {
  test("may print: stdout stays what it is for, and the lines are seen", async () => {
    await room.write(
      "loud.eval.ts",
      `console.log("loading");
       export default { data: [{ input: 1 }], target: (n: number) => { console.log("called", n); return n; } };`,
    );
    const end = await room.run(["eval", "loud.eval.ts", "--json"]);
    expect(read(end).runs[0]).toMatchObject({ counts: { completed: 1 } });
    expect(end.stderr).toContain("loading\n");
    expect(end.stderr).toContain("called 1\n");
  });

  test("that ends the process is told, with a way to go on, and does not look like success", async () => {
    await room.write(
      "exit.eval.ts",
      `export default {
         data: Array.from({ length: 8 }, (_, n) => ({ input: n })),
         target: (n: number) => (n === 5 ? process.exit(0) : n),
         maxConcurrency: 1,
       };`,
    );
    const { code, stderr } = await room.run(["eval", "exit.eval.ts"]);
    expect(code).toBe(3);
    expect(stderr).toContain("ended from within");
    expect(stderr).toContain("rollout eval exit.eval.ts --resume");
  });

  test("that rejects with nobody waiting costs the exit code, not the run", async () => {
    await room.write(
      "stray.eval.ts",
      `export default {
         data: [{ input: 1 }, { input: 2 }],
         target: async (n: number) => {
           void Promise.reject(new Error("floating " + n));
           await new Promise((resolve) => setTimeout(resolve, 20));
           return n;
         },
       };`,
    );
    const { code, stdout, stderr } = await room.run(["eval", "stray.eval.ts"]);
    expect(code).toBe(3);
    expect(stdout).toContain("2 items");
    expect(stderr).toContain("an error that nothing waited for: floating 1");
  });
});

describe("going on", () => {
  const three = `
    import { appendFileSync } from "node:fs";
    const run = (name: string, length: number) => ({
      name,
      data: Array.from({ length }, (_, n) => ({ id: name + n, input: n })),
      target: async function step(n: number) {
        appendFileSync("calls.txt", name + n + "\\n");
        if (process.env["SLOW"]) await new Promise((resolve) => setTimeout(resolve, 100));
        return n;
      },
      scorers: [function one() { return 1; }],
      maxConcurrency: 2,
    });
    export default [run("a", 3), run("b", 20), run("c", 2)];
  `;

  test("takes up what was cut off, leaves what is finished, begins what was not, and sums it all up", async () => {
    await room.write("three.eval.ts", three);
    const running = room.start(["eval", "three.eval.ts"], { env: { SLOW: "1" } });
    await expect.poll(() => room.read("calls.txt").catch(() => ""), { timeout: 30_000 }).toContain("b5\n");
    running.kill("SIGINT");
    const cut = await running.ended;
    expect(cut.stderr).toContain("c was not begun");
    expect(cut.stdout).toContain("rollout eval three.eval.ts --resume");
    const resumed = await room.run(["eval", "three.eval.ts", "--resume"]);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(resumed.stderr).toContain("a is finished already");
    expect(resumed.stdout).toContain("20 items · 20 passed");
    expect(resumed.stdout).toContain("2 items · ");
    const calls = (await room.read("calls.txt")).trim().split("\n");
    expect(calls.filter((call) => call.startsWith("a"))).toHaveLength(3);
  });

  test("is proposed when results could not be stored, and runs what they were of", async (context) => {
    const disk = mountSmallDisk(context, room, 1 << 20);
    await room.write(
      "large.eval.ts",
      `import { appendFileSync } from "node:fs";
       export default {
         data: Array.from({ length: 60 }, (_, n) => ({ input: n })),
         target: (n: number) => { appendFileSync("calls.txt", n + "\\n"); return "x".repeat(40_000); },
         scorers: [function one() { return 1; }],
       };`,
    );
    const full = await room.run(["eval", "large.eval.ts", "--store", "jobs/store.db"]);
    expect(full.code).toBe(3);
    expect(full.stdout).toContain("the disk is full");
    expect(full.stdout).toMatch(/next +rollout eval large.eval.ts --resume --store jobs\/store.db\n/);
    disk.resize(64 << 20);
    const resumed = await room.run(["eval", "large.eval.ts", "--resume", "--store", "jobs/store.db", "--json"]);
    expect(read(resumed).runs[0]).toMatchObject({ counts: { completed: 60 }, plan: { total: 60 } });
    expect(resumed.code).toBe(0);
    const calls = (await room.read("calls.txt")).trim().split("\n");
    expect(calls.length).toBeGreaterThan(60);
    expect(calls.length).toBeLessThan(120);
  });

  test("with other items than before is refused", async () => {
    const running = room.start(["eval", "double.eval.ts", "--concurrency", "2"], { env: { SLOW: "1" } });
    await expect.poll(() => room.read("calls.txt").catch(() => ""), { timeout: 30_000 }).toContain("4\n");
    running.kill("SIGINT");
    await running.ended;
    await room.write("double.eval.ts", file.replace("input: n,", "input: n + 1,"));
    const { code, stderr } = await room.run(["eval", "double.eval.ts", "--resume"]);
    expect(code).toBe(2);
    expect(stderr).toContain("the items given in code were others");
  });

  test("needs no items in the file when a dataset is named", async () => {
    await room.write("target.eval.ts", "export default { target: (n: number) => n };");
    await room.write("numbers.jsonl", '{"input": 1}\n{"input": 2}\n');
    await room.run(["dataset", "import", "numbers.jsonl"]);
    const { code, stdout } = await room.run(["eval", "target.eval.ts", "--dataset", "numbers"]);
    expect(code).toBe(0);
    expect(stdout).toContain("numbers@1");
    const without = await room.run(["eval", "target.eval.ts"]);
    expect(without.stderr).toContain('its export "default" has target, and no data');
  });
});

describe("rollout show", () => {
  test("shows a stored run, its worst item, and everything as JSON", async () => {
    const end = await room.run(["eval", "double.eval.ts", "--json"], { env: { FAIL: "3" } });
    const id = read(end).runs[0]?.id ?? "";
    const shown = await room.run(["show", id]);
    expect(shown.stdout).toContain("20 items · ");
    expect(shown.stdout).toContain(`rollout show ${id} --item n3`);
    expect((await room.run(["show", id, "--item", "n3"])).stdout).toMatch(/error\s+target_failed \(agent\): no\n/);
    const json = JSON.parse((await room.run(["show", id, "--json"])).stdout) as { units: unknown[] };
    expect(json.units).toHaveLength(20);
    const missing = await room.run(["show", "nobody"]);
    expect(missing).toMatchObject({ code: 2 });
    expect(missing.stderr).toContain(
      'nobody does not exist, and there is no run "nobody" in jobs, experiments, .rollout/rollout.db',
    );
    expect(missing.stderr).toContain(`newest runs: ${id} (double)`);
  });

  test("finds a run by the beginning of its id, and the newest by its name", async () => {
    const first = read(await room.run(["eval", "double.eval.ts", "--json", "--limit", "2"])).runs[0]?.id ?? "";
    const second = read(await room.run(["eval", "double.eval.ts", "--json", "--limit", "3"])).runs[0]?.id ?? "";
    const shown = async (word: string): Promise<string> => {
      const { stdout } = await room.run(["show", word, "--json"]);
      return (JSON.parse(stdout) as { run: { id: string } }).run.id;
    };
    expect(await shown(first.slice(0, 8))).toBe(first);
    expect(await shown(second.slice(0, 8))).toBe(second);
    expect(await shown("double")).toBe(second);
    const short = await room.run(["show", first.slice(0, 3)]);
    expect(short.stderr).toContain("newest runs:");
  });
});
