import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readHost } from "../../base/host.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Job } from "../config/job.ts";
import { defineJob } from "../config/load-job.ts";
import { parseTaskFile } from "../tasks/parse-task-file.ts";
import type { TaskConfig } from "../tasks/task.ts";
import { hang, type JobScript } from "../testing/acts.ts";
import { onlyTrial, startJob } from "../testing/job-rig.ts";
import { forever, until } from "../testing/until.ts";
import { planLimits, planResources } from "./limits.ts";

function makeJob(config: Readonly<Record<string, unknown>> = {}): Job {
  return defineJob({ agents: [{ name: "nop" }], datasets: [{ path: "/" }], ...config }, "/", [], readHost(process));
}

function makeTask(toml = ""): TaskConfig {
  const { config } = parseTaskFile(toml, "task.toml");
  if (!config) throw new Error("the task of this test is broken");
  return config;
}

describe("the limits of a trial", () => {
  test("R22: without a word from the job the task's own limits hold", () => {
    const task = makeTask(
      "[agent]\ninstall_timeout_sec = 30\ntimeout_sec = 60.5\n[verifier]\ntimeout_sec = 90\n[environment]\nbuild_timeout_sec = 0.25\n",
    );
    expect(planLimits(makeJob(), task)).toEqual({
      imageMs: 250,
      startMs: 250,
      installMs: 30_000,
      executeMs: 60_500,
      verifyMs: 90_000,
    });
  });

  test("R22: the multiplier applies to build, start, install, execution and verification", () => {
    const limits = planLimits(makeJob({ timeout_multiplier: 1.5 }), makeTask());
    expect(limits).toEqual({
      imageMs: 900_000,
      startMs: 900_000,
      installMs: 450_000,
      executeMs: 900_000,
      verifyMs: 900_000,
    });
  });

  test.each([
    ["nothing is set", {}, 120],
    ["an override replaces the task's value", { override_timeout_sec: 300 }, 300],
    ["an override may be a fraction", { override_timeout_sec: 0.5 }, 0.5],
    ["an override of 0 is not set", { override_timeout_sec: 0 }, 120],
    ["a maximum caps the task's value", { max_timeout_sec: 60 }, 60],
    ["a maximum above the task's value changes nothing", { max_timeout_sec: 600 }, 120],
    ["a maximum of 0 is not set", { max_timeout_sec: 0 }, 120],
    ["a maximum caps the override too", { override_timeout_sec: 300, max_timeout_sec: 200 }, 200],
  ])("R22: the verifier's limit when %s", (_what, verifier, sec) => {
    const task = makeTask("[verifier]\ntimeout_sec = 120\n");
    expect(planLimits(makeJob({ verifier }), task).verifyMs).toBe(sec * 1000);
    expect(planLimits(makeJob({ verifier, timeout_multiplier: 2 }), task).verifyMs).toBe(sec * 2000);
  });

  test("R22: the verifier's limit is (override or task value), capped by max, times the multiplier", () => {
    const sec = fc.double({ min: 0.001, max: 10_000, noNaN: true });
    const setting = fc.option(sec, { nil: 0 });
    fc.assert(
      fc.property(
        sec,
        setting,
        setting,
        fc.double({ min: 0.1, max: 10, noNaN: true }),
        (own, override, max, multiplier) => {
          const verifier = { override_timeout_sec: override, max_timeout_sec: max };
          const job = makeJob({ verifier, timeout_multiplier: multiplier });
          const task = { ...makeTask(), verifier: { ...makeTask().verifier, timeoutSec: own } };
          const wanted = Math.min(override || own, max || Infinity) * 1000 * multiplier;
          expect(planLimits(job, task).verifyMs).toBeCloseTo(wanted, 5);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("R30: the job's overrides replace the resources that the task asks for", () => {
    const task = makeTask('[environment]\ncpus = "2"\nmemory = "4G"\nstorage = "20G"\n');
    expect(planResources(makeJob(), task)).toEqual({
      cpus: 2,
      memoryBytes: 4e9,
      storageBytes: 20e9,
      pids: 4096,
    });
    const environment = {
      type: "memory",
      override_cpus: "500m",
      override_memory: "1Gi",
      override_storage: 30,
      pids_limit: 64,
    };
    expect(planResources(makeJob({ environment }), task)).toEqual({
      cpus: 0.5,
      memoryBytes: 2 ** 30,
      storageBytes: 30,
      pids: 64,
    });
  });
});

describe("a limit that is hit", () => {
  test("R22: an environment that answers no call after the limit holds its trial for minutes at most, once", async () => {
    const clock = new FakeClock();
    const late = ["kill", "copyFrom", "destroy"];
    const job = startJob({
      clock,
      config: { retry: { max_attempts: 3 } },
      tasks: { one: { toml: "[agent]\ntimeout_sec = 10\n" } },
      script: { execute: hang },
      faults: ({ operation }) => (late.includes(operation) ? forever : undefined),
    });
    const over = new AbortController();
    const finished = job.finished.finally(() => over.abort());
    finished.catch(() => {});
    let waitedSec = 0;
    for (; !over.signal.aborted && waitedSec < 1000; waitedSec++) {
      await clock.advance(1000);
      // Files are written in real time.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const { error, tries } = (await finished).trial(onlyTrial);
    expect(error).toMatchObject({ type: "agent_execution_timeout", cause: "agent" });
    expect(tries).toBe(1);
    expect(waitedSec).toBeLessThan(250);
  });

  const install = { agents: [{ name: "a", install: "i", execute: "e" }] };
  const cases: [string, JobScript, string, number][] = [
    ["install", { install: hang }, "agent_install_timeout", 7.5],
    ["execution", { execute: hang }, "agent_execution_timeout", 15],
    ["verification", { test: hang }, "verifier_timeout", 22.5],
  ];
  test.each(cases)(
    "R22: %s ends at its limit times the multiplier, and not before",
    async (_what, script, type, sec) => {
      const clock = new FakeClock();
      let calls = 0;
      const job = startJob({
        clock,
        config: { ...install, timeout_multiplier: 1.5 },
        tasks: { one: { toml: "[agent]\ninstall_timeout_sec = 5\ntimeout_sec = 10\n[verifier]\ntimeout_sec = 15\n" } },
        script,
        onCall: () => void calls++,
      });
      await until(() => calls === { agent_install_timeout: 1, agent_execution_timeout: 2, verifier_timeout: 3 }[type]);
      await clock.advance(sec * 1000 - 1);
      expect(job.events.filter((event) => event.type === "unit_finished")).toEqual([]);
      await clock.advance(1);
      const { error } = (await job.finished).trial(onlyTrial);
      expect(error).toMatchObject({ type, message: expect.stringContaining(`exceeded its limit of ${sec} seconds`) });
      expect(clock.pendingTimers).toBe(0);
    },
  );
});
