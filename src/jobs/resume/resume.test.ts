import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { readJob } from "../output/read-job.ts";
import { verifyJob } from "../output/verify-job.ts";
import { giveReward, hang, type Act, type JobScript } from "../testing/acts.ts";
import { runJobOnRig, startJob, type RigOptions, type RunningJob } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { until } from "../testing/until.ts";

const tasks = { one: {}, two: {}, three: {} };

// Which trials' agents ran, in order.
function watch(script: JobScript = {}): { script: JobScript; ran: string[] } {
  const ran: string[] = [];
  const execute: Act = (call) => {
    ran.push(call.key);
    return script.execute?.(call) ?? 0;
  };
  return { ran, script: { ...script, execute } };
}

/** A job of three tasks, one after the other, that is cancelled while the second runs. */
async function interrupted(options: RigOptions = {}): Promise<string> {
  const root = makeRoot();
  const job = startJob({
    root,
    tasks,
    ...options,
    config: { n_concurrent_trials: 1, ...options.config },
    script: { execute: ({ key }) => (key.includes("three") ? new Promise<number>(() => {}) : 0) },
  });
  await until(() => phaseBegun(job, "three"));
  job.cancel();
  await job.finished;
  return root;
}

function phaseBegun(job: RunningJob, task: string): boolean {
  return job.events.some(
    (event) => event.type === "unit_phase" && event.phase === "agent_execution" && event.key.includes(task),
  );
}

const resumed = (root: string, options: RigOptions = {}) =>
  runJobOnRig({ root, tasks, resume: {}, ...options, config: { n_concurrent_trials: 1, ...options.config } });

function kill(root: string, lines: number): void {
  const path = join(root, "jobs/job/.rollout/journal.jsonl");
  const all = readFileSync(path, "utf8").split("\n");
  writeFileSync(path, `${all.slice(0, lines).join("\n")}\n`);
}

describe("a job that was cancelled", () => {
  test("R38: what is finished stays as it is, the rest runs, and nothing runs twice", async () => {
    const root = await interrupted();
    const kept = join(root, "jobs/job/a/set/one__1");
    const before = {
      text: readFileSync(join(kept, "result.json"), "utf8"),
      ino: statSync(join(kept, "result.json")).ino,
    };
    const { ran, script } = watch();
    const job = await resumed(root, { script });
    expect(ran).toEqual(["a/set/three__1", "a/set/two__1"]);
    expect(job.text("a/set/one__1/result.json")).toBe(before.text);
    expect(statSync(join(kept, "result.json")).ino).toBe(before.ino);
    expect(job.result).toMatchObject({ completed_trials: 3, failed_trials: 0, skipped_trials: 0, cancelled: false });
    expect(job.result.sessions).toHaveLength(2);
    expect(job.result.mixed_inputs).toEqual([]);
    const again = watch();
    await resumed(root, { script: again.script });
    expect(again.ran).toEqual([]);
  });

  test("R38: the evidence of the try that was cut moves whole, and the result counts it", async () => {
    const root = await interrupted();
    const job = await resumed(root);
    expect(job.trial("a/set/three__1")).toMatchObject({ tries: 2, reward: 1, error: null, cost: 0 });
    const old = JSON.parse(job.text("a/set/three__1/retries/1/result.json")) as { error: { type: string } };
    expect(old.error.type).toBe("trial_cancelled");
    expect(job.has("a/set/three__1/retries/1/command/stdout.txt")).toBe(true);
    expect(job.text("a/set/three__1/retries/1/error.txt")).toContain("trial_cancelled");
    expect(job.trial("a/set/two__1")).toMatchObject({ tries: 1 });
    expect(job.has("a/set/two__1/retries")).toBe(false);
  });

  test("R38: it is read the same from its journal and from result.json", async () => {
    const root = await interrupted();
    const { result, run } = await resumed(root);
    const record = await readJob(run.dir);
    expect(record.result).toEqual(result);
    expect(record.hasEnded).toBe(true);
  });

  test("R38: listeners hear of what was kept, and the summary's next command resumes", async () => {
    const root = makeRoot();
    const first = startJob({ root, tasks, config: { n_concurrent_trials: 1 }, script: { execute: hang } });
    await until(() => first.events.some((event) => event.type === "unit_phase"));
    first.cancel();
    await first.finished;
    const end = first.events.at(-1);
    expect(end?.type === "run_finished" ? end.next[0] : null).toBe("rollout resume jobs/job");
    const root2 = await interrupted();
    const job = await resumed(root2);
    const told = (type: string) =>
      job.events.flatMap((event) => (event.type === type && "unit" in event ? event.unit.key : []));
    expect(told("unit_restored")).toEqual(["a/set/one__1"]);
    expect(told("unit_finished")).toEqual(["a/set/three__1", "a/set/two__1"]);
  });
});

describe("a job whose process died", () => {
  test.for([1, 2, 3, 4, 5, 6])("R38: after %i lines of its journal it comes to the same results", async (lines) => {
    const root = makeRoot();
    const whole = await runJobOnRig({ root, tasks, config: { n_concurrent_trials: 1 } });
    kill(root, lines);
    rmSync(join(root, "jobs/job/result.json"));
    appendFileSync(join(root, "jobs/job/.rollout/journal.jsonl"), '{"type":"trial_fini');
    const { ran, script } = watch();
    const job = await resumed(root, { script });
    // Its files tell what the journal had no time to.
    expect(ran).toEqual([]);
    expect(job.result.results).toEqual(whole.result.results);
    expect((await readJob(job.run.dir)).result).toEqual(job.result);
  });

  test("R38: a trial without a result runs again, its halves are set aside or cleared away", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks, config: { n_concurrent_trials: 1 } });
    kill(root, 1);
    const dir = join(root, "jobs/job/a/set/two__1");
    rmSync(join(dir, "result.json"));
    writeFileSync(join(dir, "result.json.123-4.tmp"), '{"task_na');
    writeFileSync(join(root, "jobs/job/a/set/one__1/result.json.123-4.tmp"), "");
    truncateSync(join(root, "jobs/job/a/set/three__1/result.json"), 20);
    const { ran, script } = watch();
    const job = await resumed(root, { script });
    expect(ran).toEqual(["a/set/three__1", "a/set/two__1"]);
    expect(job.trial("a/set/two__1")).toMatchObject({ tries: 2, reward: 1 });
    expect(job.text("a/set/two__1/retries/1/error.txt")).toContain("ended before it did");
    expect(job.tree().filter((file) => file.endsWith(".tmp"))).toEqual([]);
  });

  test("R38: a result that only the journal has is written again", async () => {
    const root = makeRoot();
    const first = await runJobOnRig({ root, tasks });
    const before = first.trial("a/set/two__1");
    rmSync(join(root, "jobs/job/a/set/two__1/result.json"));
    const { ran, script } = watch();
    const job = await resumed(root, { script });
    expect(ran).toEqual([]);
    expect(job.trial("a/set/two__1")).toEqual(before);
  });

  test("R38: a move of evidence that was cut short is finished before the next try", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks });
    kill(root, 1);
    const dir = join(root, "jobs/job/a/set/two__1");
    mkdirSync(join(dir, "retries/1.moving"), { recursive: true });
    writeFileSync(join(dir, "retries/1.moving/half.txt"), "x");
    rmSync(join(dir, "result.json"));
    const job = await resumed(root);
    expect(job.trial("a/set/two__1")).toMatchObject({ tries: 2 });
    expect(job.has("a/set/two__1/retries/1/half.txt")).toBe(true);
    expect(job.has("a/set/two__1/retries/1/command/stdout.txt")).toBe(true);
    expect(job.has("a/set/two__1/retries/1.moving")).toBe(false);
  });

  test("R38: one that died before it wrote anything starts from the beginning", async () => {
    const root = makeRoot();
    mkdirSync(join(root, "jobs/job/.rollout"), { recursive: true });
    const job = await resumed(root);
    expect(job.result).toMatchObject({ completed_trials: 3, job_name: "job" });
    expect(job.result.sessions).toHaveLength(1);
  });
});

describe("failed trials", () => {
  const failing: JobScript = {
    execute: ({ key }) => (key.includes("two") ? 1 : 0),
    test: ({ key, files }) => {
      if (!key.includes("three")) files.write("/logs/verifier/reward.txt", "1\n");
      return 0;
    },
  };

  test("R38: they stay unless they are asked for, all or by their types", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks, script: failing });
    const plain = watch(failing);
    await resumed(root, { script: plain.script });
    expect(plain.ran).toEqual([]);
    const some = watch(failing);
    const second = await resumed(root, { script: some.script, resume: { retryFailed: ["verifier_reward_missing"] } });
    expect(some.ran).toEqual(["a/set/three__1"]);
    expect(second.trial("a/set/three__1")).toMatchObject({ tries: 2, error: { type: "verifier_reward_missing" } });
    const all = watch();
    const last = await resumed(root, { script: all.script, resume: { retryFailed: "all" } });
    expect(all.ran).toEqual(["a/set/three__1", "a/set/two__1"]);
    expect(last.trial("a/set/three__1")).toMatchObject({ tries: 3, reward: 1 });
    expect(last.result).toMatchObject({ completed_trials: 3, failed_trials: 0 });
    expect(last.result.sessions).toHaveLength(3);
  });

  test("R38: one whose turn did not come keeps its result", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks, script: failing });
    const job = startJob({
      root,
      tasks,
      resume: { retryFailed: "all" },
      config: { n_concurrent_trials: 1 },
      script: { execute: hang },
    });
    await until(() => job.events.some((event) => event.type === "unit_phase" && event.phase === "agent_execution"));
    job.cancel();
    const ended = await job.finished;
    const { result } = ended;
    expect(result).toMatchObject({ completed_trials: 1, failed_trials: 2, skipped_trials: 0 });
    expect(result.errors).toEqual({ trial_cancelled: 1, agent_execution_failed: 1 });
    expect(ended.trial("a/set/two__1")).toMatchObject({ error: { type: "agent_execution_failed" }, tries: 1 });
    expect((await readJob(job.jobDir)).result).toEqual(result);
  });

  test("R38: what earlier tries cost is part of what a trial costs", async () => {
    const root = makeRoot();
    const spend: Act = ({ files }) => {
      files.write("/logs/agent/usage.json", '{"cost_usd": 0.25, "input_tokens": 10}');
      return 1;
    };
    await runJobOnRig({ root, script: { execute: spend } });
    const job = await resumed(root, { tasks: { one: {} }, script: { execute: spend }, resume: { retryFailed: "all" } });
    expect(job.trial("a/set/one__1")).toMatchObject({ tries: 2, agent_usage: { cost_usd: 0.5, input_tokens: 20 } });
    expect(job.result.total_cost).toBe(0.5);
  });

  test("R38: a cost that nobody knows is unknown", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, pricePerHour: 3600 });
    kill(root, 1);
    rmSync(join(root, "jobs/job/a/set/one__1/result.json"));
    const job = await resumed(root, { tasks: { one: {} }, pricePerHour: 3600 });
    expect(job.trial("a/set/one__1")).toMatchObject({ cost: null, tries: 2 });
    expect(job.trial("a/set/one__1").warnings).toEqual(["what an interrupted try cost is not known"]);
    expect(job.result.unknown_cost_trials).toBe(1);
  });
});

describe("a job that is not what it was", () => {
  const changed = [{ name: "a", execute: "work\nharder\n", env: { KEY: "${KEY}" } }];
  const first = [{ name: "a", execute: "work\nhard\n", env: { KEY: "${KEY}" } }];
  const secret = "a-secret-value";

  test("R39: it is refused with what changed, before and after, and without secrets", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks, config: { agents: first }, env: { KEY: secret } });
    const others = { ...tasks, two: { files: { "tests/test.sh": "other\n" } } };
    const { ran, script } = watch();
    const job = resumed(root, {
      script,
      tasks: others,
      config: { agents: changed, timeout_multiplier: 2 },
      env: { KEY: `${secret}2` },
    });
    const error = await job.then(
      () => null,
      (thrown: unknown) => thrown as { code: string; details: string[] },
    );
    expect(error?.code).toBe("config_invalid");
    expect(error?.details).toEqual([
      "timeout_multiplier",
      "  - 1",
      "  + 2",
      "agents.a.execute",
      "    work",
      "  - hard",
      "  + harder",
      "task set/two: tests/test.sh",
      "  - echo 1 > /logs/verifier/reward.txt",
      "  + other",
    ]);
    expect(ran).toEqual([]);
    expect(JSON.stringify(error?.details)).not.toContain(secret);
  });

  test("R39: of a long text the first lines that differ are shown, of all else its size", async () => {
    const root = makeRoot();
    const lines = (word: string): string => `${Array.from({ length: 90 }, (_, n) => `${word} ${n}`).join("\n")}\n`;
    const files = (word: string, byte: number) => ({
      "tests/long.txt": lines(word),
      "tests/blob": `${byte}\0`,
    });
    await runJobOnRig({ root, tasks: { one: { files: files("a", 1) } } });
    const error = await resumed(root, { tasks: { one: { files: files("b", 2) } } }).then(
      () => null,
      (thrown: unknown) => thrown as { details: string[] },
    );
    const details = error?.details ?? [];
    expect(details[0]).toBe("task set/one: tests/blob");
    expect(details[1]).toMatch(/^ {2}- 2 bytes, [0-9a-f]{12}$/);
    expect(details.slice(3, 5)).toEqual(["task set/one: tests/long.txt", "  - a 0"]);
    expect(details.at(-1)).toBe("  … and 140 more lines");
  });

  test("R39: once accepted, the rest runs with it, and the results tell which ran with what", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks, config: { agents: first }, env: { KEY: secret } });
    const config = { agents: changed, n_attempts: 2 };
    const job = await resumed(root, { config, env: { KEY: secret }, resume: { acceptChanges: true } });
    expect(job.result).toMatchObject({ total_trials: 6, completed_trials: 6 });
    const [mixed, ...others] = job.result.mixed_inputs;
    expect(others).toEqual([]);
    expect(mixed).toMatchObject({ kind: "agent", name: "a", versions: [{ trials: 3 }, { trials: 3 }] });
    expect(mixed?.versions[1]?.keys).toEqual(["a/set/one__2", "a/set/three__2", "a/set/two__2"]);
    expect(job.result.warnings).toEqual([
      "3 of 3 kept trials ran with other inputs than this job has now; see mixed_inputs in result.json",
    ]);
    expect(JSON.parse(job.text(".rollout/config-1.json"))).toMatchObject({ agents: [{ execute: "work\nhard\n" }] });
    // What was accepted once is the job from then on.
    const again = await resumed(root, { config, env: { KEY: secret } });
    expect(again.result.mixed_inputs).toEqual(job.result.mixed_inputs);
  });

  test("R39: a job may grow, and what does not touch a result may change", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks: { one: {} }, env: { KEY: secret }, config: { agents: first } });
    const { ran, script } = watch();
    const job = await resumed(root, {
      tasks,
      script,
      env: { KEY: "another-secret" },
      config: {
        agents: [{ name: "b", execute: "new" }, ...first.map((agent) => ({ ...agent, description: "x" }))],
        n_attempts: 2,
        n_concurrent_trials: 7,
        log_level: "debug",
        metrics: [{ type: "max" }],
        retry: { max_attempts: 1 },
        budget: { wall_sec: 1000 },
        environment: { type: "memory", preserve_env: "always" },
      },
    });
    expect(ran).toHaveLength(11);
    expect(ran).not.toContain("a/set/one__1");
    expect(job.result).toMatchObject({ total_trials: 12, completed_trials: 12, metrics: { max: 1 }, mixed_inputs: [] });
  });

  test("R39: what is taken out of a job is told, and no longer counted once that is accepted", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks, config: { n_attempts: 2 } });
    await expect(resumed(root)).rejects.toMatchObject({
      details: expect.arrayContaining(["trials of a on set/one", "  - attempt 2 is finished", "  + not in the job"]),
    });
    const job = await resumed(root, { resume: { acceptChanges: true } });
    expect(job.result).toMatchObject({ total_trials: 3, completed_trials: 3 });
    expect(job.result.warnings).toEqual(["3 finished trials are no longer part of the job and not counted"]);
    const { ran, script } = watch();
    const grown = await resumed(root, { script, config: { n_attempts: 2 } });
    expect(ran).toEqual([]);
    expect(grown.result).toMatchObject({ total_trials: 6, completed_trials: 6 });
  });
});

describe("a job of which nothing is left", () => {
  const read = (root: string, path: string): string => readFileSync(join(root, "jobs/job", path), "utf8");

  test("R38: is told of again, and its directory stays as it is to the last byte", async () => {
    const root = makeRoot();
    const first = await runJobOnRig({ root, tasks });
    const before = first.tree().map((path) => [path, first.text(path)]);
    const job = await resumed(root, { config: { n_concurrent_trials: 9, budget: { wall_sec: 0.000001 } } });
    expect(job.run.result).toEqual(first.result);
    expect(job.tree().map((path) => [path, job.text(path)])).toEqual(before);
    const kept = job.events.filter(({ type }) => type === "unit_restored");
    expect(kept).toHaveLength(3);
    expect(job.events.at(-1)).toMatchObject({
      type: "run_finished",
      run: { status: "completed", sessions: [{}], counts: { finished: 3 } },
    });
  });

  test("R38: is a session all the same when its numbers are to be others, or its end is missing", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks });
    expect((await resumed(root, { config: { metrics: [{ type: "max" }] } })).result).toMatchObject({
      metrics: { max: 1 },
      sessions: [{}, {}],
    });
    rmSync(join(root, "jobs/job/result.json"));
    expect((await resumed(root, { config: { metrics: [{ type: "max" }] } })).result.sessions).toHaveLength(3);
  });

  test("R40: a trial's file that was changed is named, does not count, and is named by verify afterwards, too", async () => {
    const root = makeRoot();
    const script: JobScript = { test: giveReward("0") };
    await runJobOnRig({ root, tasks: { one: {} }, script });
    const path = join(root, "jobs/job/a/set/one__1/result.json");
    writeFileSync(path, read(root, "a/set/one__1/result.json").replace('"reward": 0', '"reward": 1'));
    const told =
      "a/set/one__1: its files were changed after it ended (reward: 1, not 0); what was recorded then counts";
    const idle = await resumed(root, { tasks: { one: {} }, script });
    expect(idle.run.result).toMatchObject({ pass_rate: 0, warnings: [told] });
    const grown = await resumed(root, { tasks: { one: {} }, script, config: { n_attempts: 2 } });
    expect(grown.result).toMatchObject({ pass_rate: 0, completed_trials: 2, warnings: [told] });
    const { differences } = await verifyJob(grown.run.dir);
    expect(differences).toContainEqual(
      expect.objectContaining({ field: "a/set/one__1.reward", recorded: 0, recomputed: 1 }),
    );
  });

  test("R38: goes on where somebody removed a trial's folder: what the journal has of it counts", async () => {
    const root = makeRoot();
    const script: JobScript = { execute: ({ key }) => (key.includes("two") ? 1 : 0) };
    await runJobOnRig({ root, tasks, script });
    for (const task of ["one", "two"]) rmSync(join(root, `jobs/job/a/set/${task}__1`), { recursive: true });
    const grown = await resumed(root, { script, config: { n_attempts: 2 } });
    expect(grown.result).toMatchObject({ completed_trials: 4, failed_trials: 2, pass_rate: 1 });
    expect(grown.trial("a/set/one__1")).toMatchObject({ reward: 1, tries: 1 });
    // Nothing is left that the reward could be read from.
    expect((await verifyJob(grown.run.dir)).differences).toEqual([
      { file: "a/set/one__1/result.json", field: "reward", recorded: 1, recomputed: null },
    ]);
    rmSync(join(root, "jobs/job/a/set/two__1"), { recursive: true });
    const again = await resumed(root, {
      config: { n_attempts: 2 },
      resume: { retryFailed: ["agent_execution_failed"] },
    });
    expect(again.result).toMatchObject({ completed_trials: 6, failed_trials: 0 });
  });

  test("R40: a reward.txt and a job's result.json that were changed are named", async () => {
    const root = makeRoot();
    await runJobOnRig({ root, tasks: { one: {} } });
    writeFileSync(join(root, "jobs/job/a/set/one__1/logs/verifier/reward.txt"), "0\n");
    const path = join(root, "jobs/job/result.json");
    writeFileSync(path, read(root, "result.json").replace('"pass_rate": 1', '"pass_rate": 0.5'));
    const job = await resumed(root, { tasks: { one: {} } });
    expect(job.run.result.warnings).toEqual([
      "a/set/one__1: its files were changed after it ended (reward: 1, not 0); what was recorded then counts",
      "the job's result.json was changed after the job ended (pass_rate: 0.5, not 1); its trials say otherwise",
    ]);
  });
});

test("R36: a budget is that of all sessions, and a job that it stopped goes on when there is more", async () => {
  const root = makeRoot();
  const spend: Act = ({ files }) => {
    files.write("/logs/agent/usage.json", '{"cost_usd": 1}');
    return 0;
  };
  const config = { n_concurrent_trials: 1, budget: { cost_usd: 1 } };
  const first = await runJobOnRig({ root, tasks, config, script: { execute: spend } });
  expect(first.result).toMatchObject({ stopped_by_budget: true, skipped_trials: 2 });
  const end = first.events.at(-1);
  const more = "rollout resume jobs/job --set budget.cost_usd=3.6";
  const why =
    "budget.cost_usd: 1 of 1 is spent; 2 of 3 trials are left, and at the rate so far the job needs about 3 in all";
  expect(end).toMatchObject({ run: { status: "budget_exhausted", isResumable: true, notes: [why] } });
  expect(end?.type === "run_finished" ? end.next[0] : null).toBe(more);
  const journal = first.text(".rollout/journal.jsonl");
  const { ran, script } = watch({ execute: spend });
  await expect(resumed(root, { config, script })).rejects.toMatchObject({
    code: "budget_spent",
    details: [why],
    hint: `give it more: --set budget.cost_usd=3.6, as in ${more}`,
  });
  expect(ran).toEqual([]);
  expect(first.text(".rollout/journal.jsonl")).toBe(journal);
  const third = await resumed(root, { config: { budget: { cost_usd: 3 } }, script });
  expect(third.result).toMatchObject({ completed_trials: 3, total_cost: 3 });
  // The last trial used it up; it kept nothing from running.
  expect(third.result.stopped_by_budget).toBe(false);
});

test("R36: a repetition of failed trials that a budget cut short is gone on with as one", async () => {
  const root = makeRoot();
  const fail: Act = ({ files }) => {
    files.write("/logs/agent/usage.json", '{"cost_usd": 1}');
    return 1;
  };
  await runJobOnRig({ root, tasks, script: { execute: fail } });
  const config = { budget: { cost_usd: 3.5 } };
  const resume = { retryFailed: ["agent_execution_failed"] as const };
  const job = await resumed(root, { config, script: { execute: fail }, resume });
  expect(job.result).toMatchObject({ stopped_by_budget: true, skipped_trials: 0, failed_trials: 3 });
  const more = "rollout resume jobs/job --retry-failed agent_execution_failed --set budget.cost_usd=15";
  expect(job.run.resume).toBe(more);
  await expect(resumed(root, { config, resume: { retryFailed: "all" } })).rejects.toMatchObject({
    hint: expect.stringContaining("rollout resume jobs/job --retry-failed --set budget.cost_usd="),
  });
  // What was not asked for again has its results, and nothing is left that a budget could stop.
  const idle = await resumed(root, { config });
  expect(idle.result.stopped_by_budget).toBe(false);
  expect(idle.events.some(({ type }) => type === "run_stopping")).toBe(false);
});

test("R36: the time of earlier sessions is spent: nothing starts when it was all there was", async () => {
  const root = makeRoot();
  const clock = new FakeClock();
  const slow: Act = () => clock.advance(50_000).then(() => 0);
  const first = await runJobOnRig({
    root,
    tasks,
    clock,
    config: { n_concurrent_trials: 1 },
    script: { execute: slow },
  });
  expect(first.result.total_duration_sec).toBe(150);
  const { ran, script } = watch();
  const config = { n_attempts: 2, budget: { wall_sec: 150 } };
  await expect(resumed(root, { clock, config, script })).rejects.toMatchObject({
    code: "budget_spent",
    hint: "give it more: --set budget.wall_sec=370, as in rollout resume jobs/job --set budget.wall_sec=370",
  });
  expect(ran).toEqual([]);
});

test("R38: a second process is refused with the first one's id and machine, and the directory is free afterwards", async () => {
  const root = makeRoot();
  const job = startJob({ root, script: { execute: hang } });
  await until(() => job.events.some((event) => event.type === "unit_phase" && event.phase === "agent_execution"));
  await expect(resumed(root, { tasks: { one: {} } })).rejects.toMatchObject({
    code: "in_use",
    message: expect.stringMatching(new RegExp(`in use by process ${process.pid} on \\S+$`)),
  });
  job.cancel();
  await job.finished;
  expect((await resumed(root, { tasks: { one: {} } })).result.completed_trials).toBe(1);
});
