import { describe, expect, test } from "vitest";
import { RolloutError } from "../../base/rollout-error.ts";
import type { MemoryProcess } from "../../environments/memory/memory-handler.ts";
import { giveReward, hang, type Act } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, type RigOptions } from "../testing/job-rig.ts";
import { makeGate } from "../testing/until.ts";

// Runs an agent that leaves a server behind, and tells whether the tests still found it.
async function runWithServer(options: RigOptions & { readonly ending?: Act } = {}) {
  const { ending = () => 0, ...rest } = options;
  let server: MemoryProcess | undefined;
  const aliveInTest: boolean[] = [];
  const job = await runJobOnRig({
    ...rest,
    script: {
      execute: (call) => {
        server = call.spawn("python -m http.server");
        return ending(call);
      },
      test: (call) => {
        aliveInTest.push(server?.signal.aborted === false);
        return giveReward("1")(call);
      },
    },
  });
  return { trial: job.trial(onlyTrial), aliveInTest, isKilled: () => server?.signal.aborted };
}

describe("processes the agent left running", () => {
  test("R15: they live on while the tests run, and are recorded", async () => {
    const { trial, aliveInTest } = await runWithServer();
    expect(aliveInTest).toEqual([true]);
    expect(trial.leftovers).toEqual([{ pid: expect.any(Number), command: "python -m http.server" }]);
    expect(trial.reward).toBe(1);
  });

  test("R15: leftovers: kill in the job ends them before the tests, and still records them", async () => {
    const { trial, aliveInTest } = await runWithServer({ config: { verifier: { leftovers: "kill" } } });
    expect(aliveInTest).toEqual([false]);
    expect(trial.leftovers).toHaveLength(1);
  });

  test("R15: leftovers: kill in the task ends them too", async () => {
    const { aliveInTest } = await runWithServer({ tasks: { one: { toml: '[verifier]\nleftovers = "kill"\n' } } });
    expect(aliveInTest).toEqual([false]);
  });

  test("R16: the job's leftovers wins over the task's", async () => {
    const { aliveInTest } = await runWithServer({
      config: { verifier: { leftovers: "keep" } },
      tasks: { one: { toml: '[verifier]\nleftovers = "kill"\n' } },
    });
    expect(aliveInTest).toEqual([true]);
  });

  test("R15: one that keeps the tests from being put in place is ended, and marks the trial", async () => {
    let copies = 0;
    const { trial, aliveInTest } = await runWithServer({
      faults: ({ operation, attempt }) => {
        if (operation === "copyTo" && (copies = attempt) === 2) throw new RolloutError("copy_failed", "rm: not empty");
      },
    });
    expect(copies).toBe(3);
    expect(aliveInTest).toEqual([false]);
    expect(trial).toMatchObject({ reward: 1, error: null, tries: 1 });
    expect(trial.untrusted).toEqual([
      "something that the agent left running kept the tests out until it was ended (python -m http.server)",
    ]);
  });

  test("R24: tests that cannot be put in place without it, either, are the infrastructure's", async () => {
    const { trial } = await runWithServer({
      faults: ({ operation, attempt }) => {
        if (operation === "copyTo" && attempt > 1) throw new RolloutError("copy_failed", "no such disk");
      },
    });
    expect(trial.error).toMatchObject({ type: "verifier_failed", cause: "infrastructure", message: "no such disk" });
    expect(trial.untrusted).toEqual([]);
  });

  test("R15: they are recorded when the verifier is disabled", async () => {
    const { trial } = await runWithServer({ config: { verifier: { disable: true } } });
    expect(trial.leftovers).toHaveLength(1);
  });

  test("R15: an agent that failed is killed whole before its logs are read", async () => {
    const order: string[] = [];
    const { trial, isKilled } = await runWithServer({
      ending: () => 1,
      faults: ({ operation }) => void order.push(operation),
    });
    expect(trial.error?.type).toBe("agent_execution_failed");
    expect(isKilled()).toBe(true);
    expect(order.indexOf("kill")).toBeLessThan(order.indexOf("copyFrom"));
  });

  test("R15: an agent that failed is killed whole although leftovers are kept", async () => {
    const { isKilled } = await runWithServer({ ending: () => 1, config: { verifier: { leftovers: "keep" } } });
    expect(isKilled()).toBe(true);
  });

  test("R17: a timeout kills everything the command started before anything is collected", async () => {
    const order: string[] = [];
    let killedBefore: boolean | undefined;
    let server: MemoryProcess | undefined;
    const job = await runJobOnRig({
      tasks: { one: { toml: "[agent]\ntimeout_sec = 0.02\n" } },
      script: {
        execute: (call) => {
          server = call.spawn("daemon");
          call.files.write("/logs/agent/log.txt", "so far");
          return hang(call);
        },
      },
      faults: ({ operation }) => {
        order.push(operation);
        if (operation === "kill") killedBefore = server?.signal.aborted;
      },
    });
    expect(job.trial(onlyTrial).error?.type).toBe("agent_execution_timeout");
    expect(killedBefore).toBe(true);
    expect(order).toContain("copyFrom");
    expect(job.text(`${onlyTrial}/logs/agent/log.txt`)).toBe("so far");
  });

  test("R17: a verifier that runs out of time is killed with all it started", async () => {
    let server: MemoryProcess | undefined;
    const job = await runJobOnRig({
      tasks: { one: { toml: "[verifier]\ntimeout_sec = 0.02\n" } },
      script: {
        test: (call) => {
          server = call.spawn("daemon");
          return hang(call);
        },
      },
    });
    expect(job.trial(onlyTrial).error?.type).toBe("verifier_timeout");
    expect(server?.signal.aborted).toBe(true);
  });

  test("R24: an environment that cannot kill after a failure is warned about and still gives its logs", async () => {
    const job = await runJobOnRig({
      script: {
        execute: ({ files }) => {
          files.write("/logs/agent/log.txt", "here");
          return 1;
        },
      },
      faults: ({ operation }) => {
        if (operation === "kill") throw new Error("no such process table");
      },
    });
    expect(job.trial(onlyTrial).error?.type).toBe("agent_execution_failed");
    expect(job.trial(onlyTrial).warnings).toEqual([expect.stringContaining("could not be ended")]);
    expect(job.text(`${onlyTrial}/logs/agent/log.txt`)).toBe("here");
  });
});

describe("the reading of the reward", () => {
  // Ends test.sh and has a process it left behind try to better the reward while the logs are copied.
  async function runWithCheat(freeze: boolean) {
    const order: string[] = [];
    const testEnded = makeGate();
    let attempt: Promise<string> | undefined;
    const job = await runJobOnRig({
      capabilities: { freeze },
      script: {
        test: (call) => {
          call.spawn("cheat");
          attempt = testEnded.passed.then(() => {
            try {
              call.files.write("/logs/verifier/reward.txt", "1");
              return "written";
            } catch {
              return "stopped";
            }
          });
          return giveReward("0")(call);
        },
      },
      faults: async ({ operation }) => {
        order.push(operation);
        if (operation !== "copyFrom") return;
        testEnded.open();
        await attempt;
      },
    });
    return { trial: job.trial(onlyTrial), order, attempt: await attempt };
  }

  test("R15: the environment is frozen, so that nothing changes the reward any more", async () => {
    const { trial, order, attempt } = await runWithCheat(true);
    expect(trial.reward).toBe(0);
    expect(attempt).toBe("stopped");
    expect(order.indexOf("freeze")).toBeLessThan(order.indexOf("copyFrom"));
    expect(order).not.toContain("kill");
  });

  test("R15: where the provider cannot freeze, everything is killed first", async () => {
    const { trial, order, attempt } = await runWithCheat(false);
    expect(trial.reward).toBe(0);
    expect(attempt).toBe("stopped");
    expect(order.indexOf("kill")).toBeLessThan(order.indexOf("copyFrom"));
    expect(order).not.toContain("freeze");
  });

  test("R15: the reward that stands when test.sh ends is the one that counts", async () => {
    let freezes = 0;
    const job = await runJobOnRig({
      script: {
        test: async (call) => {
          await giveReward("0")(call);
          return giveReward("0.75")(call);
        },
      },
      faults: ({ operation }) => void (operation === "freeze" && freezes++),
    });
    expect(job.trial(onlyTrial).reward).toBe(0.75);
    expect(freezes).toBe(1);
  });
});

describe("an environment that its own processes ended", () => {
  const ended = new RolloutError("environment_ended", "the container was ended from inside");

  test.each([
    ["the agent's failure while it works", 1, "agent_execution_failed", "agent"],
    ["the agent's failure when it left something running", 2, "verifier_failed", "agent"],
  ])("R23: is %s, and no reason for another try", async (_whose, attempt, type, cause) => {
    const { trial } = await runWithServer({
      faults: (point) => {
        if (point.operation === "exec" && point.attempt === attempt) throw ended;
      },
    });
    expect(trial).toMatchObject({ tries: 1, reward: null, error: { type, cause } });
  });

  test("R23: is the task's when nothing but its tests ran", async () => {
    const job = await runJobOnRig({
      faults: ({ operation, attempt }) => {
        if (operation === "exec" && attempt === 2) throw ended;
      },
    });
    expect(job.trial(onlyTrial)).toMatchObject({ tries: 1, error: { type: "verifier_failed", cause: "task" } });
  });
});
