import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { RolloutError } from "../../base/rollout-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { readJobJournal } from "../output/job-journal.ts";
import type { TrialResultFile } from "../output/trial-result-schema.ts";
import { giveReward, hang, type RigCall } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, startJob, type FinishedJob, type RigOptions } from "../testing/job-rig.ts";
import { forever, until } from "../testing/until.ts";

const stuck = new RolloutError("teardown_failed", "device or resource busy", { hint: "docker rm -f x" });

describe("giving an environment back", () => {
  test("R25: result.json is there before teardown and is replaced after it", async () => {
    let before: TrialResultFile | undefined;
    const job = startJob({
      faults: ({ operation }) => {
        if (operation !== "destroy") return;
        before = JSON.parse(readFileSync(join(job.jobDir, onlyTrial, "result.json"), "utf8")) as TrialResultFile;
      },
    });
    const after = (await job.finished).trial(onlyTrial);
    expect(before).toMatchObject({ reward: 1, error: null, teardown: null });
    expect(after.teardown).toEqual({ duration_sec: expect.any(Number), kept: [] });
    expect({ ...after, teardown: null }).toEqual(before);
  });

  test("R34: the trial's line is synced to the journal before teardown", async () => {
    let reward: unknown;
    const job = startJob({
      faults: async ({ operation }) => {
        if (operation !== "destroy") return;
        const { finished } = await readJobJournal(join(job.jobDir, ".rollout/journal.jsonl"));
        reward = finished.get(onlyTrial)?.reward;
      },
    });
    await job.finished;
    expect(reward).toBe(1);
  });

  test.each([
    [true, ["start", "start", "removed", "removed"]],
    [false, ["start", "removed", "start", "removed"]],
  ])("R25: with removals that overlap (%s) the next trial starts meanwhile", async (removalOverlaps, order) => {
    const seen: string[] = [];
    const config = { n_attempts: 2, n_concurrent_trials: 1 };
    const job = await runJobOnRig({
      config,
      capabilities: { removalOverlaps },
      onEvent: ({ type }) => {
        if (type === "unit_started") seen.push("start");
      },
      faults: async ({ operation }) => {
        if (operation !== "destroy") return;
        if (removalOverlaps) await until(() => seen.filter((what) => what === "start").length === 2);
        seen.push("removed");
      },
    });
    expect(seen).toEqual(order);
    expect(job.result).toMatchObject({ completed_trials: 2, failed_trials: 0 });
    expect(job.trial("a/set/one__1").teardown).toMatchObject({ kept: [] });
  });

  test("R25: a removal that failed while the next trial ran is told with its own trial", async () => {
    const job = await runJobOnRig({
      config: { n_attempts: 2, n_concurrent_trials: 1 },
      capabilities: { removalOverlaps: true },
      faults: async ({ operation, labels }) => {
        if (operation === "destroy" && labels["rollout.trial-key"]?.endsWith("__1")) throw stuck;
      },
    });
    expect(job.trial("a/set/one__1")).toMatchObject({ reward: 1, error: { type: "environment_teardown_failed" } });
    expect(job.trial("a/set/one__2")).toMatchObject({ reward: 1, error: null });
    expect(job.result).toMatchObject({ completed_trials: 2, errors: { environment_teardown_failed: 1 } });
    expect(job.run.leftBehind).toHaveLength(1);
  });

  test("R25: a reward with only a failed teardown is completed", async () => {
    const job = await runJobOnRig({
      faults: ({ operation }) => {
        if (operation === "destroy") throw stuck;
      },
    });
    const { reward, error, warnings } = job.trial(onlyTrial);
    expect(reward).toBe(1);
    expect(error).toMatchObject({ type: "environment_teardown_failed", cause: "infrastructure" });
    expect(error?.message).toMatch(
      /^could not remove environment memory-\S+: device or resource busy \(docker rm -f x\)$/,
    );
    expect(warnings).toEqual([error?.message]);
    expect(job.text(`${onlyTrial}/error.txt`)).toContain("environment_teardown_failed\ncould not remove");
    expect(job.result).toMatchObject({ completed_trials: 1, failed_trials: 0, pass_rate: 1 });
    expect(job.run.leftBehind).toHaveLength(1);
  });

  test("R25: a trial that already has an error keeps it, and the failed teardown is told beside it", async () => {
    const job = await runJobOnRig({
      script: { execute: () => 3 },
      faults: ({ operation }) => {
        if (operation === "destroy") throw stuck;
      },
    });
    expect(job.trial(onlyTrial).error?.type).toBe("agent_execution_failed");
    expect(job.trial(onlyTrial).warnings).toEqual([expect.stringContaining("could not remove")]);
    const text = job.text(`${onlyTrial}/error.txt`);
    expect(text).toMatch(
      /^agent_execution_failed\n.*exited with code 3.*\n\nenvironment_teardown_failed\ncould not remove/s,
    );
  });

  test("R25: a teardown that never ends is given up after its own limit, whatever the multiplier", async () => {
    const clock = new FakeClock();
    let isAsked = false;
    const job = startJob({
      clock,
      config: { timeout_multiplier: 100 },
      faults: async ({ operation }) => {
        if (operation !== "destroy") return;
        isAsked = true;
        await forever;
      },
    });
    await until(() => isAsked);
    await clock.advance(61_000);
    expect((await job.finished).trial(onlyTrial)).toMatchObject({
      reward: 1,
      error: { type: "environment_teardown_failed" },
    });
    expect(clock.pendingTimers).toBe(0);
  });

  test("R25: the teardown of an environment that was lost is warned about when it fails", async () => {
    let isLost = false;
    const job = await runJobOnRig({
      config: { retry: { initial_delay_ms: 1 } },
      script: {
        execute: () => {
          if (isLost) return 0;
          isLost = true;
          throw new RolloutError("environment_lost", "gone", { transient: true });
        },
      },
      faults: ({ operation, environment }) => {
        if (operation === "destroy" && !environment?.endsWith("-r1")) throw stuck;
      },
    });
    expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, error: null, tries: 2 });
    expect(job.trial(onlyTrial).warnings).toEqual([expect.stringContaining("device or resource busy")]);
    expect(job.run.leftBehind).toHaveLength(1);
  });
});

describe("preserve_env", () => {
  async function run(policy: string, options: RigOptions = {}) {
    const operations: string[] = [];
    const job = startJob({
      ...options,
      config: { environment: { type: "memory", preserve_env: policy } },
      faults: ({ operation }) => void (["stop", "destroy"].includes(operation) && operations.push(operation)),
    });
    return { job, operations, left: () => job.provider().findEnvironments({}, new AbortController().signal) };
  }
  const outcomes: [string, RigOptions["script"]][] = [
    ["a pass", {}],
    ["a reward below 1", { test: giveReward("0.5") }],
    ["a failure", { execute: () => 1 }],
  ];
  const kept: Record<string, boolean[]> = {
    never: [false, false, false],
    on_failure: [false, true, true],
    always: [true, true, true],
  };
  const cases = Object.entries(kept).flatMap(([policy, row]) =>
    outcomes.map(([name, script], index) => ({ policy, name, script, isKept: row[index] })),
  );
  test.each(cases)("R26: $policy after $name: kept is $isKept", async ({ policy, script, isKept }) => {
    const { job, operations, left } = await run(policy, { script: script ?? {} });
    const finished: FinishedJob = await job.finished;
    expect(operations).toEqual([isKept ? "stop" : "destroy"]);
    const found = await left();
    expect(found).toHaveLength(isKept ? 1 : 0);
    const { teardown } = finished.trial(onlyTrial);
    expect(teardown?.kept).toEqual(found.map(({ id }) => ({ id, enter: null })));
  });

  test.each([
    ["never", "destroy"],
    ["on_failure", "destroy"],
    ["always", "stop"],
  ])("R26: under %s the end of a cancelled trial is %s", async (policy, operation) => {
    let isRunning = false;
    const execute = (call: RigCall) => {
      isRunning = true;
      return hang(call);
    };
    const { job, operations } = await run(policy, { script: { execute } });
    await until(() => isRunning);
    job.cancel();
    expect((await job.finished).trial(onlyTrial).error?.type).toBe("trial_cancelled");
    expect(operations).toEqual([operation]);
  });

  test("R26: a provider that cannot stop leaves what is kept running", async () => {
    const { job, operations, left } = await run("always", {
      capabilities: { stop: false },
      onEnvironment: (environment) => (environment.enterCommand = () => "enter it"),
    });
    await job.finished;
    expect(operations).toEqual([]);
    expect(await left()).toHaveLength(1);
  });

  test("R26: what can neither be stopped nor entered is not kept, and the trial says so", async () => {
    const { job, operations, left } = await run("always", { capabilities: { stop: false } });
    const { teardown, warnings, error } = (await job.finished).trial(onlyTrial);
    expect(operations).toEqual(["destroy"]);
    expect(await left()).toEqual([]);
    expect(teardown?.kept).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("could not be kept")]);
    expect(error).toBeNull();
  });

  test("R26: the command that enters what was kept is recorded", async () => {
    const { job } = await run("always", {
      onEnvironment: (environment) => (environment.enterCommand = () => "enter it"),
    });
    expect((await job.finished).trial(onlyTrial).teardown?.kept).toEqual([
      { id: expect.any(String), enter: "enter it" },
    ]);
    expect(existsSync(join(job.jobDir, onlyTrial, "error.txt"))).toBe(false);
  });

  test("R26: each of several that were kept is entered by a command of its own", async () => {
    const { job } = await run("always", {
      capabilities: { shell: true },
      tasks: { one: { toml: '[verifier]\nenvironment = "separate"\n' } },
    });
    const kept = (await job.finished).trial(onlyTrial).teardown?.kept ?? [];
    const enter = `rollout enter jobs/job/${onlyTrial}`;
    expect(kept).toEqual([
      { id: expect.any(String), enter },
      { id: expect.any(String), enter: `${enter} --environment ${kept[1]?.id}` },
    ]);
  });
});
