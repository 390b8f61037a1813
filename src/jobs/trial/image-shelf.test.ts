import { describe, expect, test } from "vitest";
import { RolloutError } from "../../base/rollout-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { FaultHook } from "../../environments/memory/fault-gate.ts";
import { runJobOnRig, startJob, type RigOptions } from "../testing/job-rig.ts";
import { makeGate, until } from "../testing/until.ts";

const image = { files: { "environment/Dockerfile": "FROM shared\n" } };
const quick = { max_attempts: 3, initial_delay_ms: 1, max_delay_ms: 4 };
const pulled = { toml: '[environment]\ndocker_image = "org/image:1"\n' };

function countFaults(operation: string, fail: (count: number) => void): { hook: FaultHook; count: () => number } {
  let count = 0;
  return {
    hook: (point) => {
      if (point.operation === operation) fail(++count);
    },
    count: () => count,
  };
}

const flaky = (times: number) => (count: number) => {
  if (count <= times) throw new RolloutError("image_build_failed", `registry answered 50${count}`, { transient: true });
};

describe("an image that many trials share", () => {
  test.each<[string, RigOptions["tasks"], string]>([
    ["built", { one: image, two: image }, "build"],
    ["pulled", { one: pulled, two: pulled }, "pull"],
  ])("R23: it is %s once for all of them", async (_how, tasks, operation) => {
    const { hook, count } = countFaults(operation, () => {});
    const job = await runJobOnRig({ config: { n_attempts: 3 }, ...(tasks && { tasks }), faults: hook });
    expect(job.result.completed_trials).toBe(6);
    expect(count()).toBe(1);
  });

  test("R23: a failed build is tried again once for all who wait, and counts and is kept for each of them", async () => {
    const { hook, count } = countFaults("build", flaky(2));
    const job = await runJobOnRig({ config: { retry: quick }, tasks: { one: image, two: image }, faults: hook });
    expect(count()).toBe(3);
    for (const key of ["a/set/one__1", "a/set/two__1"]) {
      expect(job.trial(key)).toMatchObject({ reward: 1, tries: 3 });
      expect(job.text(`${key}/retries/1/error.txt`)).toBe("registry answered 501\n");
      expect(job.text(`${key}/retries/2/error.txt`)).toBe("registry answered 502\n");
    }
  });

  test("R23: retries of the build count against the trial's own number", async () => {
    const build = countFaults("build", flaky(2));
    const create = countFaults("create", () => {
      throw new RolloutError("environment_start_failed", "HTTP 500", { transient: true });
    });
    const job = await runJobOnRig({
      config: { retry: quick },
      tasks: { one: image },
      faults: (point) => {
        void build.hook(point);
        void create.hook(point);
      },
    });
    expect(create.count()).toBe(2);
    expect(job.trial("a/set/one__1")).toMatchObject({ tries: 4, error: { type: "environment_start_failed" } });
  });

  test("R23: a build that stays broken fails all who waited with the same words", async () => {
    const { hook, count } = countFaults("build", flaky(9));
    const job = await runJobOnRig({
      config: { retry: { ...quick, max_attempts: 1 } },
      tasks: { one: image, two: image },
      faults: hook,
    });
    expect(count()).toBe(2);
    for (const key of ["a/set/one__1", "a/set/two__1"]) {
      expect(job.trial(key).error).toEqual({
        type: "environment_build_failed",
        message: "registry answered 502",
        phase: "environment_setup",
        cause: "infrastructure",
      });
    }
  });

  test("R23: the log of each try of a build is kept", async () => {
    const { hook } = countFaults("build", flaky(1));
    const job = await runJobOnRig({ config: { retry: quick }, tasks: { one: image }, faults: hook });
    const logs = job.tree().filter((path) => path.startsWith(".rollout/images/"));
    expect(logs.map((path) => path.split("/").at(-1))).toEqual(["build-2.log", "build.log"]);
    expect(job.text(logs[0] ?? "")).toMatch(/^built memory-build:/);
  });

  test("R23: waiting for the next try of a build holds no slot and ends at once when the job is cancelled", async () => {
    const clock = new FakeClock();
    const { hook } = countFaults("build", flaky(9));
    const job = startJob({
      clock,
      config: { n_concurrent_trials: 1, retry: { initial_delay_ms: 60_000, max_delay_ms: 60_000 } },
      tasks: { one: image, two: {} },
      faults: hook,
    });
    await until(() => job.events.some((event) => event.type === "unit_finished"));
    expect(job.events.filter((event) => event.type === "unit_finished").map((event) => event.unit.key)).toEqual([
      "a/set/two__1",
    ]);
    job.cancel();
    const finished = await job.finished;
    expect(finished.trial("a/set/one__1").error?.type).toBe("trial_cancelled");
    expect(finished.result).toMatchObject({ completed_trials: 1, failed_trials: 1 });
    expect(clock.pendingTimers).toBe(0);
  });

  test("R22: the limit of a build begins with the build and not with the wait for its turn", async () => {
    const clock = new FakeClock();
    const gates = Array.from({ length: 5 }, makeGate);
    let begun = 0;
    const task = (n: number) => ({
      toml: "[environment]\nbuild_timeout_sec = 10\n",
      files: { "environment/Dockerfile": `FROM image${n}\n` },
    });
    const job = startJob({
      clock,
      config: { n_concurrent_trials: 5 },
      tasks: { t1: task(1), t2: task(2), t3: task(3), t4: task(4), t5: task(5) },
      faults: ({ operation }) => (operation === "build" ? gates[begun++]?.passed : undefined),
    });
    await until(() => begun === 4);
    await clock.advance(9_000);
    for (const gate of gates.slice(0, 4)) gate.open();
    await until(() => begun === 5);
    await clock.advance(9_000);
    gates[4]?.open();
    expect((await job.finished).result.completed_trials).toBe(5);
  });
});
