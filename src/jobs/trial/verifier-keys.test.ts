import { describe, expect, test } from "vitest";
import { giveReward } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, type RigOptions } from "../testing/job-rig.ts";

const key = onlyTrial;

describe("nonzero_exit", () => {
  const run = (options: RigOptions) => runJobOnRig({ script: { test: giveReward("0.5", 3) }, ...options });

  test("R16: by default a test script that exits non-zero is an error and its reward is ignored", async () => {
    const { error, reward } = (await run({})).trial(key);
    expect(reward).toBeNull();
    expect(error?.type).toBe("verifier_failed");
  });

  test("R16: nonzero_exit: reward in the job takes the reward that was written", async () => {
    const job = await run({ config: { verifier: { nonzero_exit: "reward" } } });
    expect(job.trial(key)).toMatchObject({ reward: 0.5, error: null });
  });

  test("R16: nonzero_exit in the task counts when the job says nothing", async () => {
    const job = await run({ tasks: { one: { toml: '[verifier]\nnonzero_exit = "reward"\n' } } });
    expect(job.trial(key)).toMatchObject({ reward: 0.5, error: null });
  });

  test("R16: the job's nonzero_exit wins over the task's", async () => {
    const job = await run({
      config: { verifier: { nonzero_exit: "error" } },
      tasks: { one: { toml: '[verifier]\nnonzero_exit = "reward"\n' } },
    });
    expect(job.trial(key).error?.type).toBe("verifier_failed");
  });

  test("R16: nonzero_exit: reward without a reward says both what is missing and how the script ended", async () => {
    const job = await runJobOnRig({
      config: { verifier: { nonzero_exit: "reward" } },
      script: {
        test: async ({ stderr }) => {
          await stderr("Traceback: boom\n");
          return 2;
        },
      },
    });
    const { error } = job.trial(key);
    expect(error?.type).toBe("verifier_reward_missing");
    expect(error?.message).toMatch(/wrote no .*reward\.txt; the test script exited with code 2.*Traceback: boom/s);
  });
});

describe("variables", () => {
  async function run(options: RigOptions) {
    const seen: Record<string, Readonly<Record<string, string>>> = {};
    const job = await runJobOnRig({
      ...options,
      onCall: ({ command, env }) => (seen[command[1]?.split("/").at(-1) ?? ""] = env),
    });
    return { seen, job };
  }
  const agents = [{ name: "a", install: "i", execute: "e", env: { AGENT_KEY: "${AGENT_KEY}" } }];
  const instruction = { ROLLOUT_TASK_INSTRUCTION: "/tmp/instruction.md" };

  test("R16: the agent's variables reach install and execute, the verifier's only the tests", async () => {
    const { seen } = await run({
      config: { agents, verifier: { env: { JUDGE_KEY: "${JUDGE_KEY}", MODE: "${MODE:-strict}" } } },
      env: { AGENT_KEY: "agent-secret", JUDGE_KEY: "judge-secret" },
    });
    expect(seen).toEqual({
      "install.sh": { ...instruction, AGENT_KEY: "agent-secret" },
      "execute.sh": { ...instruction, AGENT_KEY: "agent-secret" },
      "test.sh": { ...instruction, JUDGE_KEY: "judge-secret", MODE: "strict" },
    });
  });

  test("R16: the instruction's path is told to every script, the oracle's too", async () => {
    const { seen } = await run({
      config: { agents: [{ name: "oracle" }], instruction_path: "/work/TASK.md" },
      tasks: { one: { files: { "solution/solve.sh": "x" } } },
    });
    expect(seen["solve.sh"]).toEqual({ ROLLOUT_TASK_INSTRUCTION: "/work/TASK.md" });
    expect(seen["test.sh"]).toEqual({ ROLLOUT_TASK_INSTRUCTION: "/work/TASK.md" });
  });

  test("R16: the instruction is at that path, and the agent cannot take the variable away", async () => {
    let text = "";
    const { seen } = await run({
      config: { agents: [{ name: "a", execute: "e", env: { ROLLOUT_TASK_INSTRUCTION: "/elsewhere" } }] },
      script: {
        execute: ({ files, env }) => {
          text = files.readText(env["ROLLOUT_TASK_INSTRUCTION"] ?? "");
          return 0;
        },
      },
    });
    expect(text).toBe("Do it.\n");
    expect(seen["execute.sh"]).toEqual(instruction);
  });

  test("R16: a task's own [verifier.env] is expanded, and the job's keys win over it", async () => {
    const { seen } = await run({
      config: { verifier: { env: { MODEL: "from the job" } } },
      tasks: { one: { toml: '[verifier.env]\nMODEL = "${NOT_SET_ANYWHERE}"\nJUDGE_KEY = "${JUDGE_KEY}"\nN = 3\n' } },
      env: { JUDGE_KEY: "judge-secret" },
    });
    expect(seen["test.sh"]).toEqual({ ...instruction, MODEL: "from the job", JUDGE_KEY: "judge-secret", N: "3" });
  });

  test("R16: a variable of a task's [verifier.env] that nobody gives makes that task's trials invalid", async () => {
    const { job } = await run({
      tasks: { one: { toml: '[verifier.env]\nKEY = "${OPENAI_KEY}"\n' }, two: {} },
      faults: ({ operation, labels }) => {
        if (operation === "create" && labels["rollout.trial-key"] === key)
          throw new Error("an environment was started");
      },
    });
    expect(job.trial(key).error).toMatchObject({
      type: "task_invalid",
      message: expect.stringContaining("OPENAI_KEY"),
    });
    expect(job.trial("a/set/two__1").reward).toBe(1);
  });
});

describe("verifier.disable", () => {
  test("R21: a trial whose agent ended well is completed without a reward, and no test runs", async () => {
    const commands: string[] = [];
    const job = await runJobOnRig({
      config: { verifier: { disable: true } },
      script: {
        execute: ({ files }) => {
          files.write("/logs/agent/trace.txt", "thoughts");
          return 0;
        },
      },
      onCall: ({ command }) => void commands.push(command[1] ?? ""),
    });
    expect(commands).toEqual(["/tmp/.rollout/execute.sh"]);
    expect(job.trial(key)).toMatchObject({ reward: null, error: null, durations: { verifier_sec: null } });
    expect(job.text(`${key}/logs/agent/trace.txt`)).toBe("thoughts");
    expect(job.result).toMatchObject({ completed_trials: 1, failed_trials: 0, pass_rate: null, mean_reward: null });
  });

  test("R21: an agent that fails is failed as ever", async () => {
    const job = await runJobOnRig({ config: { verifier: { disable: true } }, script: { execute: () => 1 } });
    expect(job.trial(key).error?.type).toBe("agent_execution_failed");
    expect(job.result).toMatchObject({ completed_trials: 0, failed_trials: 1 });
  });
});
