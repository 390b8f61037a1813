import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { RolloutError } from "../../base/rollout-error.ts";
import type { FaultHook, MemoryOperation } from "../../environments/memory/fault-gate.ts";
import { giveReward, hang, type Act } from "../testing/acts.ts";
import { onlyTrial, startJob, type RigOptions } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { until, untilAborted } from "../testing/until.ts";
import { failureTypes, type FailureType } from "./failure.ts";

interface Case {
  readonly options: RigOptions;
  readonly message: RegExp;
  readonly key?: string;
  /** Whether an environment was there to collect logs from. */
  readonly hasLogs?: boolean;
  readonly isCancelled?: boolean;
}

const installing = { agents: [{ name: "a", install: "i", execute: "e" }] };
const dockerfile = { files: { "environment/Dockerfile": "FROM x\n" } };

const failWords = (code: number): Act => {
  return async ({ stderr, stdout }) => {
    await stdout("progress\n");
    for (let line = 1; line <= 9; line++) await stderr(`stderr line ${line}\n`);
    return code;
  };
};

function throwAt(operation: MemoryOperation, error: Error): FaultHook {
  return (point) => {
    if (point.operation === operation) throw error;
  };
}

function waitAt(operation: MemoryOperation): FaultHook {
  return async (point) => {
    if (point.operation === operation) await untilAborted(point.signal);
  };
}

const lastFive = String.raw`it last printed:\nstderr line 5\n.*stderr line 9`;

const cases: Record<FailureType, Case> = {
  environment_build_failed: {
    options: {
      tasks: { one: dockerfile },
      faults: throwAt(
        "build",
        new RolloutError("image_build_failed", "step 3/4: apt-get install nothing: exit code 100"),
      ),
    },
    message: /^step 3\/4: apt-get install nothing: exit code 100$/,
  },
  environment_build_timeout: {
    options: {
      tasks: { one: { ...dockerfile, toml: "[environment]\nbuild_timeout_sec = 0.02\n" } },
      faults: waitAt("build"),
    },
    message: /^image build exceeded its limit of 0\.02 seconds$/,
  },
  environment_image_pull_failed: {
    options: {
      tasks: { one: { toml: '[environment]\ndocker_image = "org/none:1"\n' } },
      faults: throwAt("pull", new RolloutError("image_pull_failed", "org/none:1: not found", { hint: "docker login" })),
    },
    message: /^org\/none:1: not found$/,
  },
  environment_start_failed: {
    options: { faults: throwAt("create", new RolloutError("environment_start_failed", "no such runtime: nvidia")) },
    message: /^no such runtime: nvidia$/,
  },
  environment_resource_allocation_failed: {
    options: {
      faults: throwAt("create", new RolloutError("resource_allocation_failed", "64 CPUs asked for, 8 there")),
    },
    message: /^64 CPUs asked for, 8 there$/,
  },
  agent_install_failed: {
    options: { config: installing, script: { install: failWords(127) } },
    message: new RegExp(String.raw`^agent install exited with code 127 \(command not found\); ${lastFive}$`, "s"),
    hasLogs: true,
  },
  agent_install_timeout: {
    options: {
      config: installing,
      tasks: { one: { toml: "[agent]\ninstall_timeout_sec = 0.02\n" } },
      script: { install: hang },
    },
    message: /^agent install exceeded its limit of 0\.02 seconds$/,
    hasLogs: true,
  },
  agent_execution_failed: {
    options: { script: { execute: failWords(3) } },
    message: new RegExp(`^agent execution exited with code 3; ${lastFive}$`, "s"),
    hasLogs: true,
  },
  agent_execution_timeout: {
    options: { tasks: { one: { toml: "[agent]\ntimeout_sec = 0.02\n" } }, script: { execute: hang } },
    message: /^agent execution exceeded its limit of 0\.02 seconds$/,
    hasLogs: true,
  },
  verifier_failed: {
    options: { script: { test: failWords(1) } },
    message: new RegExp(`^the test script exited with code 1; ${lastFive}$`, "s"),
    hasLogs: true,
  },
  verifier_timeout: {
    options: { tasks: { one: { toml: "[verifier]\ntimeout_sec = 0.02\n" } }, script: { test: hang } },
    message: /^the verifier exceeded its limit of 0\.02 seconds$/,
    hasLogs: true,
  },
  verifier_reward_missing: {
    options: { script: { test: () => 0 } },
    message: /wrote no \/logs\/verifier\/reward\.txt$/,
    hasLogs: true,
  },
  verifier_reward_invalid: {
    options: { script: { test: giveReward("passed\n") } },
    message: /reward\.txt holds "passed\\n"; expected one finite number/,
    hasLogs: true,
  },
  environment_teardown_failed: {
    options: { faults: throwAt("destroy", new RolloutError("teardown_failed", "device busy")) },
    message: /^could not remove environment memory-\S+: device busy$/,
    hasLogs: true,
  },
  task_invalid: {
    options: { tasks: { one: { files: { "instruction.md": null } } } },
    message: /\/set\/one\/instruction\.md does not exist$/,
  },
  task_not_found: {
    options: { datasets: {}, config: { datasets: [{ registry: { path: "." }, name: "r" }] } },
    key: "a/r/x__1",
    message: /no-repository/,
  },
  trial_cancelled: {
    options: { script: { execute: hang } },
    message: /^the job was cancelled by SIGINT$/,
    hasLogs: true,
    isCancelled: true,
  },
  internal_error: {
    options: { faults: throwAt("list", new TypeError("x is not a function")) },
    message: /^unexpected: x is not a function$/,
    hasLogs: true,
  },
};

describe("every type of failure", () => {
  test.each([...failureTypes])(
    "%s is recorded with a message to act on, error.txt and the logs there are",
    async (type) => {
      const { options, message, key = onlyTrial, hasLogs = false, isCancelled = false } = cases[type];
      const root = makeRoot();
      const tasks = [{ name: "x", git_url: `file://${root}/no-repository`, path: "x" }];
      writeFileSync(join(root, "registry.json"), JSON.stringify([{ name: "r", tasks }]));
      let isRunning = false;
      const job = startJob({
        root,
        ...options,
        onCall: ({ files }) => {
          isRunning = true;
          files.write("/logs/agent/trace.txt", "a trace");
        },
      });
      if (isCancelled) {
        await until(() => isRunning);
        job.cancel();
      }
      const finished = await job.finished;
      const { error, reward } = finished.trial(key);
      expect(error?.type).toBe(type);
      expect(error?.message).toMatch(message);
      expect(reward).toBe(type === "environment_teardown_failed" ? 1 : null);
      const errorText = finished.text(`${key}/error.txt`);
      expect(errorText).toMatch(new RegExp(`^${type}\n`));
      expect(errorText).toContain(error?.message.replace("unexpected: ", ""));
      expect(finished.has(`${key}/logs/agent/trace.txt`)).toBe(hasLogs);
      expect(finished.result.errors).toEqual({ [type]: 1 });
      expect(finished.result.results).toEqual([expect.objectContaining({ reward, error_type: type })]);
      const unit = job.events.find((event) => event.type === "unit_finished")?.unit;
      const failure =
        type === "environment_teardown_failed"
          ? null
          : { ...error, fingerprint: expect.stringMatching(new RegExp(`^${type}\\|${error?.phase ?? ""}\\|`)) };
      expect(unit?.failure).toEqual(failure);
      expect(unit?.status).toBe(failure === null ? "completed" : isCancelled ? "cancelled" : "failed");
    },
  );

  test("error.txt of a pull that failed has the hint and what it was caused by", async () => {
    const cause = new Error("connect ECONNREFUSED");
    const error = new RolloutError("image_pull_failed", "cannot pull", { hint: "docker login", cause });
    const job = startJob({
      tasks: { one: { toml: '[environment]\ndocker_image = "x"\n' } },
      faults: throwAt("pull", error),
    });
    const text = (await job.finished).text(`${onlyTrial}/error.txt`);
    expect(text).toMatch(
      /^environment_image_pull_failed\ncannot pull\nhint: docker login\ncaused by: Error: connect ECONNREFUSED\n +at /,
    );
    expect(text).toMatch(/\nlog: \.rollout\/images\/[^/\n]+\/pull\.log\n?$/);
  });

  test("error.txt of an internal error has its stack", async () => {
    const job = startJob({ faults: throwAt("list", new TypeError("x is not a function")) });
    expect((await job.finished).text(`${onlyTrial}/error.txt`)).toMatch(/TypeError: x is not a function\n +at /);
  });
});

describe("how a script ended", () => {
  test.each<[string, Act, RegExp]>([
    [
      "a signal",
      () => ({ exitCode: null, signal: "SIGSEGV" }),
      /^agent execution was ended by SIGSEGV; it printed nothing$/,
    ],
    [
      "the memory limit",
      () => ({ exitCode: 137, outOfMemory: true }),
      /^agent execution was killed by the memory limit of 2G;/,
    ],
    ["code 126", () => 126, /exited with code 126 \(found but not executable\)/],
    ["code 137", () => 137, /exited with code 137 \(killed\)/],
  ])("%s is told", async (_how, execute, message) => {
    const job = startJob({ script: { execute } });
    expect((await job.finished).trial(onlyTrial).error).toMatchObject({
      type: "agent_execution_failed",
      message: expect.stringMatching(message),
    });
  });

  test("the last words are from stdout when stderr is silent", async () => {
    const execute: Act = async ({ stdout }) => {
      await stdout("giving up\n");
      return 1;
    };
    const job = startJob({ script: { execute } });
    expect((await job.finished).trial(onlyTrial).error?.message).toBe(
      "agent execution exited with code 1; it last printed:\ngiving up",
    );
  });
});
