import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readStartTicks } from "../../base/process-start.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runJobOnRig, startJob } from "../testing/job-rig.ts";
import { listFiles, makeRoot } from "../testing/temp-files.ts";
import { createJobDirectory } from "./job-directory.ts";

const noon = new Date(2025, 0, 15, 12, 5, 9).getTime();

describe("the name of a job directory", () => {
  test("R5: a job without a name is called by the local time, and takes -2, -3 on collision", async () => {
    const root = makeRoot();
    const names: string[] = [];
    for (let n = 0; n < 3; n++) names.push((await createJobDirectory(join(root, "jobs"), null, noon)).name);
    expect(names).toEqual(["2025-01-15__12-05-09", "2025-01-15__12-05-09-2", "2025-01-15__12-05-09-3"]);
  });

  test("R5: two jobs that start in the same second never share a directory", async () => {
    const root = makeRoot();
    const made = await Promise.all(Array.from({ length: 8 }, () => createJobDirectory(join(root, "jobs"), null, noon)));
    expect(new Set(made.map(({ paths }) => paths.dir)).size).toBe(8);
  });

  test("R5: the generated name is the one in config.json and result.json", async () => {
    const clock = new FakeClock();
    const root = makeRoot();
    const job = await runJobOnRig({ root, clock, config: { name: undefined } });
    expect(job.result.job_name).toMatch(/^2025-01-1\d__\d\d-30-00$/);
    expect(job.run.dir).toBe(join(root, "jobs", job.result.job_name));
    expect(JSON.parse(job.text("config.json"))).toMatchObject({ name: job.result.job_name });
  });

  test("R5: a chosen name whose directory exists is refused, and nothing is written or started", async () => {
    const root = makeRoot();
    mkdirSync(join(root, "jobs", "job"), { recursive: true });
    writeFileSync(join(root, "jobs", "job", "mine.txt"), "do not touch");
    const operations: string[] = [];
    const job = startJob({ root, faults: ({ operation }) => void operations.push(operation) });
    await expect(job.finished).rejects.toMatchObject({
      code: "already_exists",
      message: `${join(root, "jobs", "job")} already exists`,
    });
    expect(listFiles(join(root, "jobs"))).toEqual(["job/mine.txt"]);
    expect(operations).toEqual([]);
    expect(job.events).toEqual([]);
  });

  test("R5: names become one safe segment each", async () => {
    const job = await runJobOnRig({
      config: { name: "a/b:c", agents: [{ name: "x/../y", execute: "e" }], datasets: [{ path: "set", name: "d/e" }] },
    });
    expect(job.run.dir.endsWith("/jobs/a_b_c")).toBe(true);
    expect(job.trial("x_.._y/d_e/one__1")).toMatchObject({ agent_name: "x/../y", dataset_name: "d/e", reward: 1 });
  });

  test("R5: a jobs_dir in a file system that takes no directories is told, and does not hang", async () => {
    const run = runJobOnRig({ config: { jobs_dir: "/proc/rollout/jobs" } });
    await expect(run).rejects.toMatchObject({ code: "config_invalid" });
  });

  test("R5: a jobs_dir that cannot be made is told before anything starts", async () => {
    const root = makeRoot();
    writeFileSync(join(root, "file"), "");
    const run = runJobOnRig({ root, config: { jobs_dir: join(root, "file", "jobs") } });
    await expect(run).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(join(root, "file", "jobs")),
    });
  });
});

describe("the tree of a job", () => {
  test("R5: it holds what is documented, and what is ours is in .rollout", async () => {
    const job = await runJobOnRig({
      config: { agents: [{ name: "a", install: "i", execute: "e" }] },
      tasks: { one: { files: { "environment/Dockerfile": "FROM x\n" } } },
      script: {
        execute: ({ files }) => {
          files.write("/logs/agent/trace.txt", "t");
          return 0;
        },
      },
    });
    const tree = job
      .tree()
      .map((path) =>
        path.replace(/images\/[0-9a-f]{64}/, "images/<key>").replace(/tasks\/[0-9a-f]{32}/, "tasks/<hash>"),
      );
    expect(tree).toEqual([
      ".rollout/images/<key>/build.log",
      ".rollout/journal.jsonl",
      ".rollout/lock.json",
      ".rollout/log.jsonl",
      ".rollout/run.json",
      ".rollout/tasks/<hash>.json",
      "a/set/one__1/command/stderr.txt",
      "a/set/one__1/command/stdout.txt",
      "a/set/one__1/logs/agent/trace.txt",
      "a/set/one__1/logs/verifier/reward.txt",
      "a/set/one__1/logs/verifier/stderr.txt",
      "a/set/one__1/logs/verifier/stdout.txt",
      "a/set/one__1/result.json",
      "a/set/one__1/setup/stderr.txt",
      "a/set/one__1/setup/stdout.txt",
      "config.json",
      "result.json",
    ]);
  });

  test("R5: the lock names who runs the job", async () => {
    const job = await runJobOnRig({ clock: new FakeClock() });
    expect(JSON.parse(job.text(".rollout/lock.json"))).toEqual({
      run_id: "run-1",
      pid: process.pid,
      start_ticks: readStartTicks(process.pid),
      hostname: expect.any(String),
      boot_id: expect.any(String),
      started_at: "2025-01-15T10:30:00.000Z",
    });
  });

  test("R5: every environment carries the run, the owner and its trial", async () => {
    let labels: Readonly<Record<string, string>> = {};
    const job = await runJobOnRig({ onCall: (call) => (labels = call.labels) });
    expect(labels).toEqual({
      "rollout.run": "run-1",
      "rollout.job": "job",
      "rollout.owner-pid": String(process.pid),
      "rollout.owner-boot": expect.any(String),
      "rollout.owner-host": expect.any(String),
      ...(process.platform === "linux" ? { "rollout.owner-start": expect.stringMatching(/^\d+$/) } : {}),
      "rollout.trial": job.trial("a/set/one__1").trial_id,
      "rollout.trial-key": "a/set/one__1",
    });
  });

  test("R5: an environment's name is unique for every trial and short, however long the names are", async () => {
    const names = new Set<string>();
    const long = "x".repeat(150);
    const job = await runJobOnRig({
      tasks: { [long]: {}, [`${long}y`]: {} },
      config: {
        n_attempts: 2,
        agents: [
          { name: "a".repeat(190), execute: "e" },
          { name: `${"a".repeat(190)}b`, execute: "e" },
        ],
      },
      faults: ({ operation, environment }) => void (operation === "create" && environment && names.add(environment)),
    });
    expect(job.result.completed_trials).toBe(8);
    expect(names.size).toBe(8);
    for (const name of names) expect(name).toMatch(/^[a-z0-9-]{1,63}$/);
  });

  test("no staging file is left anywhere", async () => {
    const job = await runJobOnRig({ config: { n_attempts: 5 }, script: { execute: () => 1 } });
    expect(job.tree().filter((path) => /\.tmp$|incoming|\.tail$|transfer/.test(path))).toEqual([]);
    expect(readFileSync(join(job.run.dir, "result.json"), "utf8").endsWith("}\n")).toBe(true);
  });
});
