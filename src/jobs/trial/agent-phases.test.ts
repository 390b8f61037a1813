import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { giveReward, type RigCall } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig } from "../testing/job-rig.ts";

const solution = { files: { "solution/solve.sh": "touch done\n", "solution/data.txt": "42\n" } };
const oracleTrial = "oracle/set/one__1";

describe("the oracle and nop", () => {
  test("R12: the oracle runs solve.sh from /oracle in the working directory, with its output in command/", async () => {
    const seen: unknown[] = [];
    const job = await runJobOnRig({
      config: { agents: [{ name: "oracle" }] },
      tasks: { one: { ...solution, toml: "" } },
      script: {
        solve: async ({ command, cwd, files, env, stdout, stderr }) => {
          seen.push(command, cwd, files.readText("/oracle/data.txt"), env["ROLLOUT_TASK_INSTRUCTION"]);
          await stdout("solving\n");
          await stderr("careful\n");
          return 0;
        },
      },
    });
    expect(seen).toEqual([["bash", "/oracle/solve.sh"], "/app", "42\n", "/tmp/instruction.md"]);
    expect(job.trial(oracleTrial)).toMatchObject({ reward: 1, error: null });
    expect(job.text(`${oracleTrial}/command/stdout.txt`)).toBe("solving\n");
    expect(job.text(`${oracleTrial}/command/stderr.txt`)).toBe("careful\n");
  });

  test("R12: /solution leads to /oracle while the oracle runs and is gone before the tests", async () => {
    const seen: unknown[] = [];
    await runJobOnRig({
      config: { agents: [{ name: "oracle" }] },
      tasks: { one: solution },
      script: {
        solve: ({ files }) => {
          seen.push(files.readText("/solution/data.txt"));
          return 0;
        },
        test: (call) => {
          seen.push(call.files.exists("/solution"), call.files.exists("/oracle/solve.sh"));
          return giveReward("1")(call);
        },
      },
    });
    expect(seen).toEqual(["42\n", false, true]);
  });

  test("R12: the oracle has the agent's limit", async () => {
    const job = await runJobOnRig({
      config: { agents: [{ name: "oracle" }] },
      tasks: { one: { ...solution, toml: "[agent]\ntimeout_sec = 0.02\n" } },
      script: { solve: () => new Promise<number>(() => {}) },
    });
    expect(job.trial(oracleTrial).error).toMatchObject({
      type: "agent_execution_timeout",
      message: "agent execution exceeded its limit of 0.02 seconds",
    });
  });

  test("R12: without solution/solve.sh the oracle's trials are invalid and start no environment", async () => {
    const operations: string[] = [];
    const job = await runJobOnRig({
      config: { agents: [{ name: "oracle" }, { name: "nop" }] },
      faults: ({ operation, labels }) => void operations.push(`${operation} ${labels["rollout.trial-key"]}`),
    });
    expect(job.trial(oracleTrial).error).toEqual({
      type: "task_invalid",
      message: "the task has no solution/solve.sh, so the oracle cannot run it",
      phase: null,
      cause: "task",
    });
    expect(operations.filter((operation) => operation.includes("oracle"))).toEqual([]);
    expect(job.trial("nop/set/one__1").reward).toBe(1);
  });

  test("R12: nop runs no command before the verifier does", async () => {
    const commands: string[] = [];
    const job = await runJobOnRig({
      config: { agents: [{ name: "nop" }] },
      script: { test: giveReward("0") },
      onCall: ({ command }) => void commands.push(command.join(" ")),
    });
    expect(commands).toEqual(["bash /tests/test.sh"]);
    expect(job.trial("nop/set/one__1")).toMatchObject({ reward: 0, error: null });
    expect(job.text("nop/set/one__1/command/stdout.txt")).toBe("");
  });

  test.each(["oracle", "nop"])("R12: scripts of one's own for %s are a configuration error", async (name) => {
    const run = runJobOnRig({ config: { agents: [{ name, install: "x", execute: "y" }] } });
    await expect(run).rejects.toMatchObject({
      code: "config_invalid",
      problems: [{ path: "agents[0].install" }, { path: "agents[0].execute" }],
    });
  });
});

describe("an agent of scripts", () => {
  test("R27: install and execute run one after the other in the image's working directory", async () => {
    const seen: string[] = [];
    const record = ({ command, cwd, files }: RigCall): number => {
      seen.push(`${cwd}: ${files.readText(command[1] ?? "")}`);
      return 0;
    };
    const job = await runJobOnRig({
      config: { agents: [{ name: "a", install: "get it", execute: "do it" }] },
      tasks: { one: { files: { "environment/Dockerfile": "FROM x\nWORKDIR /work\n" } } },
      script: { install: record, execute: record },
    });
    expect(seen).toEqual(["/work: get it", "/work: do it"]);
    expect(job.trial(onlyTrial).reward).toBe(1);
  });

  test("R27: without install the agent's setup takes no time and leaves empty files", async () => {
    const job = await runJobOnRig();
    const { durations, timestamps } = job.trial(onlyTrial);
    expect(durations.agent_setup_sec).toBe(0);
    expect(timestamps.agent_setup_started_at).toBe(timestamps.agent_setup_ended_at);
    expect(timestamps.agent_setup_started_at).not.toBeNull();
    expect(job.text(`${onlyTrial}/setup/stdout.txt`) + job.text(`${onlyTrial}/setup/stderr.txt`)).toBe("");
  });

  test("R27: each phase begins when the one before it ends, and has the time that went by in it", async () => {
    const clock = new FakeClock();
    const spend = (ms: number) => () => clock.advance(ms).then(() => 0);
    const job = await runJobOnRig({
      clock,
      config: { agents: [{ name: "a", install: "i", execute: "e" }] },
      script: {
        install: spend(1500),
        execute: spend(2000),
        test: (call) => spend(250)().then(() => giveReward("1")(call)),
      },
      faults: ({ operation }) => (operation === "create" ? clock.advance(500) : undefined),
    });
    const { durations, timestamps } = job.trial(onlyTrial);
    expect(durations).toEqual({
      total_sec: 4.25,
      environment_setup_sec: 0.5,
      agent_setup_sec: 1.5,
      agent_execution_sec: 2,
      verifier_sec: 0.25,
    });
    expect(timestamps.environment_setup_ended_at).toBe(timestamps.agent_setup_started_at);
    expect(timestamps.agent_setup_ended_at).toBe(timestamps.agent_execution_started_at);
    expect(timestamps.agent_execution_ended_at).toBe(timestamps.verifier_started_at);
    expect(timestamps).toMatchObject({ started_at: "2025-01-15T10:30:00.000Z", ended_at: "2025-01-15T10:30:04.250Z" });
  });

  test("R27: phases that were not reached have null times and durations", async () => {
    const job = await runJobOnRig({
      config: { agents: [{ name: "a", install: "i", execute: "e" }] },
      script: { install: () => 1 },
    });
    const { durations, timestamps } = job.trial(onlyTrial);
    expect(durations).toMatchObject({
      agent_setup_sec: expect.any(Number),
      agent_execution_sec: null,
      verifier_sec: null,
    });
    expect(timestamps).toMatchObject({
      agent_setup_ended_at: expect.any(String),
      agent_execution_started_at: null,
      agent_execution_ended_at: null,
      verifier_started_at: null,
      verifier_ended_at: null,
    });
  });
});
