import { describe, expect, test } from "vitest";
import { RolloutError } from "../../base/rollout-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { FaultHook, FaultPoint } from "../../environments/memory/fault-gate.ts";
import { isInterrupted } from "../output/trial-result-schema.ts";
import { onlyTrial, runJobOnRig, startJob } from "../testing/job-rig.ts";
import { forever, until, untilAborted } from "../testing/until.ts";

const agents = [{ name: "a", install: "i", execute: "e" }];

function failAt(
  operation: FaultPoint["operation"],
  attempt: number,
  error = new RolloutError("exec_failed", "the engine hung up"),
): FaultHook {
  return (point) => {
    if (point.operation === operation && point.attempt === attempt) throw error;
  };
}

describe("infrastructure that fails in a phase", () => {
  test.each<[string, FaultPoint["operation"], number, string, string]>([
    ["copying before the agent", "copyTo", 1, "environment_start_failed", "agent_setup"],
    ["running install", "exec", 1, "agent_install_failed", "agent_setup"],
    ["copying the execute script", "copyTo", 2, "agent_execution_failed", "agent_execution"],
    ["running the agent", "exec", 2, "agent_execution_failed", "agent_execution"],
    ["copying the tests", "copyTo", 3, "verifier_failed", "verifier"],
    ["running the tests", "exec", 3, "verifier_failed", "verifier"],
    ["holding still", "freeze", 1, "verifier_failed", "verifier"],
  ])(
    "R24: %s takes the phase's failed type, with infrastructure as the cause",
    async (_what, operation, attempt, type, phase) => {
      const job = await runJobOnRig({ config: { agents }, faults: failAt(operation, attempt) });
      expect(job.trial(onlyTrial).error).toEqual({
        type,
        message: "the engine hung up",
        phase,
        cause: "infrastructure",
      });
      expect(job.trial(onlyTrial).reward).toBeNull();
    },
  );

  test("R24: without install, copying the agent's script is still before the agent", async () => {
    const job = await runJobOnRig({ faults: failAt("copyTo", 1) });
    expect(job.trial(onlyTrial).error).toMatchObject({ type: "environment_start_failed", cause: "infrastructure" });
  });

  test("R24: logs that cannot be read after a failure are a warning beside the failure", async () => {
    const job = await runJobOnRig({
      script: { execute: () => 1 },
      faults: failAt("copyFrom", 1, new RolloutError("copy_failed", "the stream broke")),
    });
    expect(job.trial(onlyTrial)).toMatchObject({
      error: { type: "agent_execution_failed", phase: "agent_execution", cause: "agent" },
      warnings: ["/logs could not be copied: the stream broke"],
    });
  });

  test("R38: logs for which the disk had no room make a trial that is run again, whoever tells of it", async () => {
    const cause = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    const job = await runJobOnRig({
      faults: failAt("copyFrom", 1, new RolloutError("copy_failed", "cannot write agent/log: ENOSPC", { cause })),
    });
    const trial = job.trial(onlyTrial);
    expect(trial.error).toMatchObject({ type: "internal_error", cause: "infrastructure" });
    expect(isInterrupted(trial)).toBe(true);
  });

  test("R24: a failed install is caused by the agent, failed tests by the task", async () => {
    const job = await runJobOnRig({ config: { agents }, script: { install: () => 7 } });
    expect(job.trial(onlyTrial).error).toMatchObject({ phase: "agent_setup", cause: "agent" });
    const tested = await runJobOnRig({ script: { test: () => 7 } });
    expect(tested.trial(onlyTrial).error).toMatchObject({ phase: "verifier", cause: "task" });
  });

  test("R24: an environment that does not answer a small call is a failed call, not the agent's timeout", async () => {
    const clock = new FakeClock();
    let isAsked = false;
    const job = startJob({
      clock,
      faults: async ({ operation }) => {
        if (operation !== "list") return;
        isAsked = true;
        await forever;
      },
    });
    await until(() => isAsked);
    await clock.advance(301_000);
    const { error } = (await job.finished).trial(onlyTrial);
    expect(error).toMatchObject({ type: "agent_execution_failed", cause: "infrastructure" });
    expect(error?.message).toContain("did not answer within 300 seconds");
  });

  test("R24: an environment that cannot start in time is infrastructure's fault", async () => {
    const clock = new FakeClock();
    let isAsked = false;
    const job = startJob({
      clock,
      tasks: { one: { toml: "[environment]\nbuild_timeout_sec = 30\n" } },
      faults: async ({ operation, signal }) => {
        if (operation !== "create") return;
        isAsked = true;
        await untilAborted(signal);
      },
    });
    await until(() => isAsked);
    await clock.advance(30_000);
    expect((await job.finished).trial(onlyTrial).error).toEqual({
      type: "environment_start_failed",
      message: "starting the environment exceeded its limit of 30 seconds",
      phase: "environment_setup",
      cause: "infrastructure",
    });
  });
});
