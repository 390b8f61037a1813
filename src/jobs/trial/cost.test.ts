import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Act } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig } from "../testing/job-rig.ts";

const reports = (usage: unknown): Act => {
  return ({ files }) => {
    files.write("/logs/agent/usage.json", typeof usage === "string" ? usage : JSON.stringify(usage));
    return 0;
  };
};

test("R28: an environment without a price costs nothing", async () => {
  const job = await runJobOnRig();
  expect(job.trial(onlyTrial)).toMatchObject({ cost: 0, agent_usage: null });
  expect(job.result).toMatchObject({ total_cost: 0, unknown_cost_trials: 0 });
});

test("R28: a price is paid for the time the environment was there", async () => {
  const clock = new FakeClock();
  const execute: Act = () => clock.advance(1_800_000).then(() => 0);
  const job = await runJobOnRig({
    clock,
    pricePerHour: 2,
    tasks: { one: { toml: "[agent]\ntimeout_sec = 7200\n" } },
    script: { execute },
  });
  expect(job.trial(onlyTrial).cost).toBe(1);
  expect(job.result).toMatchObject({ total_cost: 1, agents: { a: { total_cost: 1 } } });
});

test("R28: a trial that never had an environment costs nothing", async () => {
  const job = await runJobOnRig({ tasks: { one: { files: { "instruction.md": null } } }, pricePerHour: 2 });
  expect(job.trial(onlyTrial)).toMatchObject({ error: { type: "task_invalid" }, cost: 0 });
});

test("R28: a cost that nobody knows is null, and the totals count how many there are", async () => {
  const job = await runJobOnRig({
    config: { n_attempts: 3 },
    onEnvironment: (environment) => (environment.cost = () => (environment.id.includes("-1-") ? null : 0.25)),
  });
  expect([1, 2, 3].map((n) => job.trial(`a/set/one__${n}`).cost)).toEqual([0.25, null, 0.25]);
  expect(job.result).toMatchObject({ total_cost: 0.5, unknown_cost_trials: 1 });
});

test("R28: what an agent reports in usage.json is recorded and counted beside the environment's cost", async () => {
  const job = await runJobOnRig({
    onEnvironment: (environment) => (environment.cost = () => 0.25),
    script: { execute: reports({ cost_usd: 0.5, input_tokens: 1200, output_tokens: 34, model: "x" }) },
  });
  expect(job.trial(onlyTrial)).toMatchObject({
    cost: 0.25,
    agent_usage: { cost_usd: 0.5, input_tokens: 1200, output_tokens: 34 },
  });
  expect(job.result.total_cost).toBe(0.75);
  const finished = job.events.find((event) => event.type === "unit_finished");
  expect(finished?.unit.spendUsd).toBe(0.75);
});

test("R28: amounts that are missing or no amounts are null", async () => {
  const job = await runJobOnRig({ script: { execute: reports({ cost_usd: "free", input_tokens: -1 }) } });
  expect(job.trial(onlyTrial).agent_usage).toEqual({ cost_usd: null, input_tokens: null, output_tokens: null });
});

test("R28: an amount that nobody can have used does not count, so that the totals of a job stay numbers", async () => {
  const job = await runJobOnRig({
    config: { n_attempts: 2 },
    script: { execute: reports({ cost_usd: 1e308, input_tokens: 1e308, output_tokens: 7 }) },
  });
  expect(job.trial(onlyTrial)).toMatchObject({
    agent_usage: { cost_usd: null, input_tokens: null, output_tokens: 7 },
    warnings: ["cost_usd", "input_tokens"].map(
      (key) => `/logs/agent/usage.json: ${key} is not a number from 0 to 1e15`,
    ),
  });
  expect(job.result.total_cost).toBe(0);
});

test("R28: a usage.json that cannot be read is a warning", async () => {
  const job = await runJobOnRig({ script: { execute: reports("{ half") } });
  expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, agent_usage: null });
  expect(job.trial(onlyTrial).warnings).toEqual([expect.stringContaining("/logs/agent/usage.json could not be read")]);
});

test("R28: usage of an agent that failed counts as well", async () => {
  const execute: Act = async (call) => {
    await reports({ cost_usd: 2 })(call);
    return 1;
  };
  const job = await runJobOnRig({ script: { execute } });
  expect(job.trial(onlyTrial)).toMatchObject({
    error: { type: "agent_execution_failed" },
    agent_usage: { cost_usd: 2 },
  });
  expect(job.result.total_cost).toBe(2);
});
