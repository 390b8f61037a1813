import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { giveReward } from "../testing/acts.ts";
import { runJobOnRig } from "../testing/job-rig.ts";
import { verifyJob } from "./verify-job.ts";

async function finishedDir(): Promise<string> {
  const { run } = await runJobOnRig({
    tasks: { one: {}, two: {}, three: {} },
    config: { n_attempts: 2, metrics: [{ type: "sum" }], agents: [{ name: "a", execute: "e" }, { name: "nop" }] },
    script: {
      execute: ({ key }) => (key.includes("two") ? 1 : 0),
      test: (call) => giveReward(call.key.includes("three") ? "0.3" : "1")(call),
    },
  });
  return run.dir;
}

function edit(path: string, change: (value: Record<string, unknown>) => void): void {
  const value = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  change(value);
  writeFileSync(path, JSON.stringify(value));
}

test("R40: a job is what its trials say, to the last value", async () => {
  const { differences, compared, trials, hasEnded } = await verifyJob(await finishedDir());
  expect(differences).toEqual([]);
  expect({ trials, hasEnded }).toEqual({ trials: 12, hasEnded: true });
  expect(compared).toBeGreaterThan(300);
});

test("R40: every aggregate that was touched is named, with what it should be", async () => {
  const dir = await finishedDir();
  edit(join(dir, "result.json"), (result) => {
    result["pass_rate"] = 0.99;
    result["completed_trials"] = 12;
    const agents = result["agents"] as Record<string, { metrics: Record<string, number>; datasets: object }>;
    if (agents["a"]) agents["a"].metrics["sum"] = 7;
    if (agents["nop"]) agents["nop"].datasets = {};
  });
  const { differences } = await verifyJob(dir);
  const file = "result.json";
  expect(differences).toEqual([
    { file, field: "completed_trials", recorded: 12, recomputed: 10 },
    { file, field: "pass_rate", recorded: 0.99, recomputed: 0.6 },
    { file, field: "agents.a.metrics.sum", recorded: 7, recomputed: 2.6 },
    { file, field: "agents.nop.datasets.set", recorded: undefined, recomputed: expect.any(Object) },
  ]);
});

test("R40: a trial's own file that was touched is named, against its journal and its reward.txt", async () => {
  const dir = await finishedDir();
  edit(join(dir, "a/set/three__2/result.json"), (result) => (result["reward"] = 1));
  const { differences } = await verifyJob(dir);
  const [line, reward, ...others] = differences;
  expect(line).toEqual({
    file: ".rollout/journal.jsonl",
    field: "a/set/three__2.reward",
    recorded: 0.3,
    recomputed: 1,
  });
  expect(reward).toEqual({ file: "a/set/three__2/result.json", field: "reward", recorded: 1, recomputed: 0.3 });
  expect(others.map(({ field }) => field)).toEqual(
    expect.arrayContaining(["mean_reward", "agents.a.mean_reward", "results[3].reward", "metrics.sum"]),
  );
});

test("R40: a trial whose file is gone is a difference, not a skipped trial", async () => {
  const dir = await finishedDir();
  rmSync(join(dir, "nop/set/one__1/result.json"));
  const { differences } = await verifyJob(dir);
  expect(differences[0]).toMatchObject({ file: "nop/set/one__1/result.json", field: "", recorded: null });
  expect(differences).toContainEqual({ file: "result.json", field: "skipped_trials", recorded: 0, recomputed: 1 });
});
