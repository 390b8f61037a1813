import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import { openLocalRig, rewarding } from "./local-rig.ts";

const rig = await openLocalRig();

interface CheckFile {
  readonly exit_code: number;
  readonly job_dir: string;
  readonly offline_job_dir: string | null;
  readonly network_not_looked_at: string | null;
  readonly tasks: readonly {
    readonly task_name: string;
    readonly verdict: string;
    readonly findings: readonly { readonly kind: string; readonly message: string; readonly trial_dir: string }[];
    readonly needs_network: boolean | null;
    readonly warnings: readonly string[];
  }[];
}

const local = ["--environment", "local"];
const whenDone = `if [ -e /tmp/done ]; then ${rewarding(1)}; else ${rewarding(0)}; fi`;
const good = { solution: "touch /tmp/done", test: whenDone };

describe("on this machine", () => {
  test("each kind of task gets its verdict, worst first, and the exit code is 1", async () => {
    const port = await openServer();
    const room = await rig.makeRoom({
      good,
      untouched: { ...good, test: rewarding(1) },
      unsolved: { ...good, solution: "true" },
      invalid: { ...good, toml: '[agent]\ntimeout_sec = "soon"\n' },
      unsolvable: { test: whenDone },
      online: {
        ...good,
        test: `if exec 3<>/dev/tcp/127.0.0.1/${port}; then ${whenDone}; else echo 'Could not resolve host: a.test'; ${rewarding(0)}; fi`,
      },
    });
    const { code, stdout, stderr } = await room.run(["check", "tasks", "-k", "2", ...local, "--name", "checked"]);
    expect(code, stderr).toBe(1);
    expect(
      stdout
        .split("\n\n")[0]
        ?.split("\n")
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ["task", "oracle", "nop", "verdict"],
      ["invalid", "–", "–", "broken"],
      ["unsolvable", "–", "0 of 2", "broken"],
      ["unsolved", "0 of 2", "0 of 2", "oracle fails"],
      ["untouched", "2 of 2", "2 of 2", "passes untouched"],
      ["online", "2 of 2", "0 of 2", "needs the network"],
      ["good", "2 of 2", "0 of 2", "ok"],
    ]);
    expect(stdout).toContain("oracle fails: its solution passed 0 of 2: reward 0 (2 times)");
    expect(stdout).toContain("rollout show jobs/checked/oracle/tasks/unsolved__1");
    expect(stdout.replaceAll(/\s+/g, " ")).toContain("reward 0; the verifier could not reach the network");
    expect(stdout).toMatch(/6 tasks checked.* 1 ok/);
    expect(stdout).toMatch(/^next {5}rollout show jobs\/checked\/oracle\/tasks\/invalid__1$/m);
    const offline = await room.readJson<JobResultFile>("jobs/checked-no-network/result.json");
    expect(offline.results.map(({ task_name: name, reward }) => `${name} ${reward}`)).toEqual([
      "good 1",
      "online 0",
      "untouched 1",
    ]);
  });

  test("the JSON says the same, and tasks that are right exit with 0", async () => {
    const room = await rig.makeRoom({ good, other: good });
    const paths = ["tasks/good", "tasks/other"];
    const { code, stdout, stderr } = await room.run(["check", ...paths, "-k", "1", ...local, "--json", "--quiet"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const check = JSON.parse(stdout) as CheckFile;
    expect(check).toMatchObject({ schema_version: 1, exit_code: 0, n_attempts: 1, network_not_looked_at: null });
    expect(check.tasks).toMatchObject(
      ["good", "other"].map((task_name) => ({
        dataset_name: "tasks",
        task_name,
        verdict: "ok",
        findings: [],
        oracle: { judged: 1, passed: 1 },
        nop: { judged: 1, passed: 0 },
        needs_network: false,
        warnings: [],
      })),
    );
    for (const dir of [check.job_dir, check.offline_job_dir ?? ""]) expect(existsSync(dir)).toBe(true);
  });

  test("a job file lends its environment and its tasks, not its agents and its name", async () => {
    const room = await rig.makeRoom({ good, other: good }, { n_attempts: 5, name: "mine" });
    const asked = ["check", "job.yaml", "--task", "good", "-k", "1", "--no-network-check", "--json"];
    const { code, stdout, stderr } = await room.run(asked);
    expect(code, stderr).toBe(0);
    const check = JSON.parse(stdout) as CheckFile;
    expect(check.tasks.map(({ task_name: name }) => name)).toEqual(["good"]);
    expect(check).toMatchObject({ offline_job_dir: null, network_not_looked_at: "--no-network-check" });
    expect(existsSync(room.path("jobs/mine"))).toBe(false);
    const shown = await room.run(["show", check.job_dir]);
    expect(shown.stdout).toMatch(/^nop +tasks/m);
    expect(shown.stdout).toMatch(/^oracle +tasks/m);
  });
});

test("of a selection only the tasks that pass are run without the network", async () => {
  const room = await rig.makeRoom({ a: good, b: { ...good, solution: ":" }, c: good, d: good });
  const offlineTasks = async (...words: string[]): Promise<string[]> => {
    const { stdout } = await room.run(["check", "tasks", "-k", "1", ...local, "--json", "--quiet", ...words]);
    const { offline_job_dir: dir } = JSON.parse(stdout) as CheckFile;
    const result = JSON.parse(readFileSync(`${dir}/result.json`, "utf8")) as JobResultFile;
    return result.results.map(({ task_name: name }) => name);
  };
  expect(await offlineTasks("--exclude", "d")).toEqual(["a", "c"]);
  expect(await offlineTasks("--limit", "3")).toEqual(["a", "c"]);
  expect(await offlineTasks("--task", "a", "--task", "b")).toEqual(["a"]);
});

test("SIGINT while the tests have no network ends them, and what the first job showed is told", async () => {
  const port = await openServer();
  const stuck = `if (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null; then ${whenDone}; else echo stuck; sleep 600; fi`;
  const room = await rig.makeRoom({
    untouched: { test: rewarding(1), solution: ":" },
    stuck: { ...good, test: stuck },
  });
  const running = room.start(["check", "tasks", "-k", "1", ...local, "--name", "cut"]);
  const output = room.path("jobs/cut-no-network/oracle/tasks/stuck__1/logs/verifier/stdout.txt");
  await running.until("its tests are stuck", () => existsSync(output) && readFileSync(output, "utf8") === "stuck\n");
  running.kill("SIGINT");
  const { code, stdout, stderr } = await running.ended;
  expect(code).toBe(130);
  expect(stderr).toContain("SIGINT: stopping the running trials");
  expect(stdout).toMatch(/^untouched +1 of 1 +1 of 1 +passes untouched$/m);
  expect(stdout).toMatch(/^stuck +1 of 1 +0 of 1 +not judged: stopped before its end$/m);
});

/** A server on the loopback address, which sandboxes with the host's network reach. */
async function openServer(): Promise<number> {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
