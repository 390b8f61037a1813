import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import type { FaultHook, MemoryOperation } from "../environments/memory/fault-gate.ts";
import { hang, type Act, type JobScript } from "./testing/acts.ts";
import { onlyTrial, startJob, type RigOptions, type RunningJob } from "./testing/job-rig.ts";
import { forever, makeGate, until, untilAborted } from "./testing/until.ts";

const agents = [{ name: "a", install: "i", execute: "e" }];
const { signal } = new AbortController();

// Starts a job and waits until it is where the test wants it.
async function startAndReach(options: RigOptions, isThere: (job: RunningJob) => boolean): Promise<RunningJob> {
  const job = startJob(options);
  await until(() => isThere(job));
  return job;
}

// Holds one operation until its signal is aborted, or for good.
function holdAt(operation: MemoryOperation, isStubborn = false): { faults: FaultHook; isReached: () => boolean } {
  let isReached = false;
  return {
    faults: async (point) => {
      if (point.operation !== operation) return;
      isReached = true;
      await (isStubborn ? forever : untilAborted(point.signal));
    },
    isReached: () => isReached,
  };
}

describe("the first signal", () => {
  const image = { one: { files: { "environment/Dockerfile": "FROM x\n" } } };
  const scripts: [string, JobScript][] = [
    ["install", { install: hang }],
    ["execution", { execute: hang }],
    ["verification", { test: hang }],
  ];
  test.each(scripts)(
    "R31: a trial is terminated in its %s, with its logs collected and its environment gone",
    async (_phase, script) => {
      let reached = "";
      const [name] = Object.keys(script);
      const job = await startAndReach(
        {
          config: { agents },
          script,
          onCall: ({ command, files }) => {
            reached = command[1] ?? "";
            files.write("/logs/agent/trace.txt", reached);
          },
        },
        () => reached.endsWith(`/${name}.sh`),
      );
      job.cancel();
      const finished = await job.finished;
      expect(finished.trial(onlyTrial)).toMatchObject({
        reward: null,
        error: { type: "trial_cancelled", message: "the job was cancelled by SIGINT", cause: "cancelled" },
        teardown: { kept: [] },
      });
      expect(finished.text(`${onlyTrial}/logs/agent/trace.txt`)).toBe(reached);
      expect(finished.text(`${onlyTrial}/error.txt`)).toContain("trial_cancelled");
      expect(finished.result).toMatchObject({
        cancelled: true,
        completed_trials: 0,
        failed_trials: 1,
        skipped_trials: 0,
      });
      expect(await job.provider().findEnvironments({}, signal)).toEqual([]);
    },
  );

  test.each<MemoryOperation>(["build", "create", "copyTo", "list", "freeze"])(
    "R31: a trial is terminated while it waits for %s",
    async (operation) => {
      const { faults, isReached } = holdAt(operation);
      const job = await startAndReach({ config: { agents }, tasks: image, faults }, isReached);
      job.cancel();
      const finished = await job.finished;
      expect(finished.trial(onlyTrial).error?.type).toBe("trial_cancelled");
      expect(await job.provider().findEnvironments({}, signal)).toEqual([]);
    },
  );

  test("R31: no trial is taken any more, and those that never started are skipped and listed", async () => {
    let running = 0;
    const execute: Act = (call) => {
      running++;
      return hang(call);
    };
    const config = { n_concurrent_trials: 2, n_attempts: 2 };
    const job = await startAndReach({ config, tasks: { one: {}, two: {} }, script: { execute } }, () => running === 2);
    job.cancel();
    const finished = await job.finished;
    const { result } = finished;
    expect(running).toBe(2);
    expect(result).toMatchObject({ total_trials: 4, failed_trials: 2, skipped_trials: 2 });
    const two = { task_name: "two", dataset_name: "set", agent_name: "a" };
    expect(result.skipped).toEqual([
      { ...two, attempt: 1 },
      { ...two, attempt: 2 },
    ]);
    expect(result.results.map(({ error_type }) => error_type)).toEqual(["trial_cancelled", "trial_cancelled"]);
    expect(finished.has("a/set/two__1")).toBe(false);
    expect(job.events.at(-1)).toMatchObject({
      type: "run_finished",
      run: { status: "cancelled", isResumable: true, details: { skipped_trials: 2 } },
    });
    expect(job.events).toContainEqual(expect.objectContaining({ type: "run_stopping", running: 2 }));
  });

  test("R31: a trial that finished before keeps its result", async () => {
    const execute: Act = (call) => (call.key === onlyTrial ? 0 : hang(call));
    const job = await startAndReach({ tasks: { one: {}, two: {} }, script: { execute } }, ({ events }) =>
      events.some((event) => event.type === "unit_finished"),
    );
    job.cancel();
    const { result } = await job.finished;
    expect(result.results).toEqual([
      expect.objectContaining({ task_name: "one", reward: 1, error_type: null }),
      expect.objectContaining({ task_name: "two", reward: null, error_type: "trial_cancelled" }),
    ]);
  });

  test("R31: a job cancelled before its first trial writes its result with everything skipped", async () => {
    const job = startJob({ onEvent: (event) => void (event.type === "run_started" && job.cancel()) });
    const { result } = await job.finished;
    expect(result).toMatchObject({ cancelled: true, total_trials: 1, skipped_trials: 1, pass_rate: null });
  });

  test("R31: an environment that starts after the cancellation is destroyed before the job ends", async () => {
    const gate = makeGate();
    let isReached = false;
    const destroyed: unknown[] = [];
    const job = await startAndReach(
      {
        faults: async ({ operation, environment }) => {
          if (operation === "destroy") destroyed.push(environment);
          if (operation !== "create") return;
          isReached = true;
          await gate.passed;
        },
      },
      () => isReached,
    );
    job.cancel();
    await until(() => job.events.some((event) => event.type === "run_stopping"));
    expect(destroyed).toEqual([]);
    gate.open();
    const finished = await job.finished;
    expect(destroyed).toHaveLength(1);
    expect(await job.provider().findEnvironments({}, signal)).toEqual([]);
    expect(finished.trial(onlyTrial).error?.type).toBe("trial_cancelled");
    expect(finished.run.leftBehind).toEqual([]);
  });

  test("R31: a build that takes a while to stop has stopped before the job ends", async () => {
    const gate = makeGate();
    let isReached = false;
    let hasStopped = false;
    const job = await startAndReach(
      {
        tasks: { one: { files: { "environment/Dockerfile": "FROM x\n" } } },
        faults: async ({ operation }) => {
          if (operation !== "build") return;
          isReached = true;
          await gate.passed;
          await new Promise((resolve) => setTimeout(resolve, 20));
          hasStopped = true;
        },
      },
      () => isReached,
    );
    job.cancel();
    await until(() => job.events.some((event) => event.type === "unit_finished"));
    gate.open();
    expect((await job.finished).trial(onlyTrial).error?.type).toBe("trial_cancelled");
    expect(hasStopped).toBe(true);
  });

  test("R31: teardown goes on under its own limit although the job was cancelled", async () => {
    let wasAborted: boolean | undefined;
    let isRunning = false;
    const execute: Act = (call) => {
      isRunning = true;
      return hang(call);
    };
    const faults: FaultHook = (point) => {
      if (point.operation === "destroy") wasAborted = point.signal.aborted;
    };
    const job = await startAndReach({ script: { execute }, faults }, () => isRunning);
    job.cancel();
    await job.finished;
    expect(wasAborted).toBe(false);
  });
});

describe("the second signal", () => {
  test("R31: it stops the waiting for teardown, and what is left behind is named", async () => {
    const clock = new FakeClock();
    const { faults, isReached } = holdAt("destroy", true);
    let id = "";
    const job = await startAndReach(
      { clock, faults, onEnvironment: (environment) => (id = environment.id) },
      isReached,
    );
    job.cancel();
    job.force();
    await clock.advance(1000);
    const finished = await job.finished;
    expect(finished.run.leftBehind).toEqual([id]);
    expect(finished.trial(onlyTrial)).toMatchObject({ reward: 1, error: { type: "environment_teardown_failed" } });
    expect(finished.trial(onlyTrial).error?.message).toContain("cut short by a second SIGINT");
    expect(clock.pendingTimers).toBe(0);
  });

  test("R31: it does not wait for a command that cannot be killed", async () => {
    const clock = new FakeClock();
    const { faults, isReached } = holdAt("exec", true);
    const job = await startAndReach({ clock, faults }, isReached);
    job.cancel();
    job.force();
    await clock.advance(1000);
    expect((await job.finished).trial(onlyTrial).error?.type).toBe("trial_cancelled");
  });

  test("R31: it does not wait for a build that does not stop", async () => {
    const { faults, isReached } = holdAt("build", true);
    const tasks = { one: { files: { "environment/Dockerfile": "FROM x\n" } } };
    const job = await startAndReach({ clock: new FakeClock(), tasks, faults }, isReached);
    job.cancel();
    await until(() => job.events.some((event) => event.type === "unit_finished"));
    job.force();
    expect((await job.finished).trial(onlyTrial).error?.type).toBe("trial_cancelled");
  });

  test("R31: it does not wait for an environment that is still starting, and names it", async () => {
    const clock = new FakeClock();
    const { faults, isReached } = holdAt("create", true);
    const job = await startAndReach({ clock, faults }, isReached);
    job.cancel();
    await until(() => job.events.some((event) => event.type === "run_stopping"));
    job.force();
    const finished = await job.finished;
    expect(finished.run.leftBehind).toEqual([finished.trial(onlyTrial).trial_id]);
    expect(finished.trial(onlyTrial).warnings).toEqual([
      expect.stringContaining("was still starting and may be left behind"),
    ]);
  });
});
