import { describe, expect, test } from "vitest";
import { RolloutError } from "../../base/rollout-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { FaultHook } from "../../environments/memory/fault-gate.ts";
import type { RigCall } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, startJob, type RigOptions, type RunningJob } from "../testing/job-rig.ts";
import { until } from "../testing/until.ts";

const quick = { max_attempts: 3, initial_delay_ms: 1, max_delay_ms: 4 };

function transient(
  code: "environment_start_failed" | "copy_failed" | "environment_lost",
  message = "HTTP 500",
): RolloutError {
  return new RolloutError(code, message, { transient: true, hint: "look at the engine" });
}

// Fails an operation the first so many times that it is done.
function failFirst(times: number, operation: string, error: () => Error): FaultHook {
  let left = times;
  return (point) => {
    if (point.operation === operation && left-- > 0) throw error();
  };
}

const retriesOf = ({ events }: Pick<RunningJob, "events">) => events.filter((event) => event.type === "unit_retry");

describe("a call that fails before the agent starts", () => {
  test("R23: it is made again in place, counted, and its evidence kept", async () => {
    const job = await runJobOnRig({
      config: { retry: quick },
      faults: failFirst(2, "create", () => transient("environment_start_failed")),
    });
    expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, error: null, tries: 3 });
    expect(job.text(`${onlyTrial}/retries/1/error.txt`)).toBe("HTTP 500\nhint: look at the engine\n");
    expect(job.has(`${onlyTrial}/retries/2/error.txt`)).toBe(true);
    expect(job.has(`${onlyTrial}/retries/3`)).toBe(false);
    expect(job.has(`${onlyTrial}/error.txt`)).toBe(false);
  });

  test("R23: max_attempts is the number of retries after the first try", async () => {
    let creates = 0;
    const job = await runJobOnRig({
      config: { retry: { ...quick, max_attempts: 2 } },
      faults: ({ operation }) => {
        if (operation !== "create") return;
        creates++;
        throw transient("environment_start_failed", `HTTP 50${creates}`);
      },
    });
    expect(creates).toBe(3);
    expect(job.trial(onlyTrial)).toMatchObject({
      tries: 3,
      error: { type: "environment_start_failed", message: "HTTP 503", cause: "infrastructure" },
    });
  });

  test("R23: max_attempts 0 means one try", async () => {
    const job = await runJobOnRig({
      config: { retry: { max_attempts: 0 } },
      faults: failFirst(1, "create", () => transient("environment_start_failed")),
    });
    expect(job.trial(onlyTrial)).toMatchObject({ tries: 1, error: { type: "environment_start_failed" } });
    expect(job.has(`${onlyTrial}/retries`)).toBe(false);
  });

  test("R23: what is not transient is not tried again", async () => {
    const job = await runJobOnRig({
      config: { retry: quick },
      faults: failFirst(1, "create", () => new RolloutError("environment_start_failed", "no such runtime")),
    });
    expect(job.trial(onlyTrial)).toMatchObject({ tries: 1, error: { message: "no such runtime" } });
  });

  test("R23: copying the agent's script is made again in place, without a new environment", async () => {
    const environments = new Set<string>();
    const job = await runJobOnRig({
      config: { retry: quick, agents: [{ name: "a", install: "i", execute: "e" }] },
      faults: failFirst(1, "copyTo", () => transient("copy_failed")),
      onCall: ({ environmentId }) => void environments.add(environmentId),
    });
    expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, tries: 2 });
    expect(environments.size).toBe(1);
  });

  test("R23: agent and verifier failures are outcomes and not tried again", async () => {
    for (const script of [{ execute: () => 1 }, { test: () => 1 }]) {
      const job = await runJobOnRig({ config: { retry: quick }, script });
      expect(job.trial(onlyTrial).tries).toBe(1);
      expect(retriesOf(job)).toEqual([]);
    }
  });
});

describe("an environment that is lost", () => {
  const loseOnce = (phase: "execute" | "test"): RigOptions["script"] => {
    let isLost = false;
    return {
      [phase]: async ({ environment, files, stdout }: RigCall) => {
        if (isLost) {
          if (phase === "test") files.write("/logs/verifier/reward.txt", "1");
          return 0;
        }
        isLost = true;
        await stdout("the first try\n");
        await environment.destroy(new AbortController().signal);
        return 0;
      },
    };
  };

  test.each(["execute", "test"] as const)(
    "R23: lost in %s, the trial is done again whole in a new one",
    async (phase) => {
      const environments: string[] = [];
      const job = await runJobOnRig({
        config: { retry: quick },
        script: loseOnce(phase) ?? {},
        onEnvironment: ({ id }) => void environments.push(id),
      });
      expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, error: null, tries: 2 });
      expect(environments).toHaveLength(2);
      const folder = phase === "execute" ? "command" : "logs/verifier";
      expect(job.text(`${onlyTrial}/retries/1/${folder}/stdout.txt`)).toBe("the first try\n");
      expect(job.text(`${onlyTrial}/retries/1/error.txt`)).toContain("has been destroyed");
      expect(job.text(`${onlyTrial}/${folder}/stdout.txt`)).toBe("");
      expect(job.has(`${onlyTrial}/retries/1/result.json`)).toBe(false);
    },
  );

  test("R23: lost before the agent starts, it is not asked again but replaced", async () => {
    const environments: string[] = [];
    const job = await runJobOnRig({
      config: { retry: quick },
      faults: failFirst(1, "copyTo", () => transient("environment_lost")),
      onEnvironment: ({ id }) => void environments.push(id),
    });
    expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, tries: 2 });
    expect(environments).toHaveLength(2);
  });

  test("R5: the environment of each try has a name of its own", async () => {
    const names: (string | null)[] = [];
    await runJobOnRig({
      config: { retry: quick },
      script: loseOnce("execute") ?? {},
      faults: ({ operation, environment }) => void (operation === "create" && names.push(environment)),
    });
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^[a-z0-9-]{1,63}$/);
  });

  test("R23: calls in place and whole tries count against the same number", async () => {
    const lose = async ({ environment }: RigCall): Promise<number> => {
      await environment.destroy(new AbortController().signal);
      return 0;
    };
    const job = await runJobOnRig({
      config: { retry: { ...quick, max_attempts: 2 } },
      faults: failFirst(1, "create", () => transient("environment_start_failed")),
      script: { execute: lose },
    });
    expect(job.trial(onlyTrial)).toMatchObject({
      tries: 3,
      error: { type: "agent_execution_failed", cause: "infrastructure" },
    });
    expect(job.text(`${onlyTrial}/retries/1/error.txt`)).toContain("HTTP 500");
    expect(job.text(`${onlyTrial}/retries/2/error.txt`)).toContain("has been destroyed");
  });

  test("R23: what all tries cost is counted together", async () => {
    const job = await runJobOnRig({
      config: { retry: quick },
      script: loseOnce("execute") ?? {},
      onEnvironment: (environment) => (environment.cost = () => 0.5),
    });
    expect(job.trial(onlyTrial).cost).toBe(1);
  });
});

describe("the wait before a retry", () => {
  test("R23: it starts at initial_delay_ms, grows by the multiplier and is capped by max_delay_ms", async () => {
    const clock = new FakeClock();
    const retry = { max_attempts: 4, initial_delay_ms: 1000, multiplier: 3, max_delay_ms: 10_000 };
    const job = startJob({
      clock,
      // The multiplier of timeouts has no say in how long a wait is.
      config: { retry, timeout_multiplier: 7 },
      faults: failFirst(4, "create", () => transient("environment_start_failed")),
    });
    for (const [index, waitMs] of [1000, 3000, 9000, 10_000].entries()) {
      await until(() => retriesOf(job).length === index + 1);
      expect(retriesOf(job).at(-1)).toMatchObject({ tries: index + 1, waitMs, failure: { message: "HTTP 500" } });
      await clock.advance(waitMs - 1);
      expect(retriesOf(job)).toHaveLength(index + 1);
      await clock.advance(1);
    }
    expect((await job.finished).trial(onlyTrial)).toMatchObject({ reward: 1, tries: 5 });
  });

  test("R23: it does not hold a slot: another trial runs meanwhile", async () => {
    const clock = new FakeClock();
    const job = startJob({
      clock,
      config: { n_concurrent_trials: 1, retry: { initial_delay_ms: 60_000 } },
      tasks: { one: {}, two: {} },
      faults: failFirst(1, "create", () => transient("environment_start_failed")),
    });
    await until(() => job.events.some((event) => event.type === "unit_finished"));
    expect(job.events.filter((event) => event.type === "unit_finished").map((event) => event.unit.key)).toEqual([
      "a/set/two__1",
    ]);
    await clock.advance(60_000);
    const { result } = await job.finished;
    expect(result.completed_trials).toBe(2);
  });

  test.each(["create", "exec"] as const)(
    "R23: it ends at once when the job is cancelled (failed %s)",
    async (operation) => {
      const clock = new FakeClock();
      const job = startJob({
        clock,
        config: { retry: { initial_delay_ms: 60_000, max_delay_ms: 60_000 } },
        faults: failFirst(1, operation, () =>
          transient(operation === "create" ? "environment_start_failed" : "environment_lost"),
        ),
      });
      await until(() => retriesOf(job).length === 1);
      job.cancel();
      const finished = await job.finished;
      expect(finished.trial(onlyTrial)).toMatchObject({ tries: 2, error: { type: "trial_cancelled" } });
      expect(finished.has(`${onlyTrial}/retries/1/error.txt`)).toBe(true);
      expect(clock.pendingTimers).toBe(0);
    },
  );
});
