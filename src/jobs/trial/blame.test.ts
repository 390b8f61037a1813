import { describe, expect, test } from "vitest";
import type { TrialErrorFile } from "../output/trial-result-schema.ts";
import { giveReward, type Act } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, type RigOptions } from "../testing/job-rig.ts";

const shell = { capabilities: { shell: true } };
const notFound: Act = async ({ stderr }) => {
  await stderr("env: 'bash': No such file or directory\n");
  return 127;
};

async function errorOf(options: RigOptions): Promise<TrialErrorFile | null> {
  return (await runJobOnRig(options)).trial(onlyTrial).error;
}

describe("an image without a shell", () => {
  const own = { one: { files: { "environment/Dockerfile": "FROM x\n" } } };

  test("is the task's fault, and not that of the agent whose script it cannot run", async () => {
    const error = await errorOf({ ...shell, tasks: own, script: { execute: notFound, shell: notFound } });
    expect(error).toMatchObject({ type: "environment_start_failed", cause: "task" });
    expect(error?.message).toMatch(/^the task's image has no bash that runs, .*: env: 'bash': No such file/);
  });

  test("is the configuration's fault where it is the base that the job chose", async () => {
    const error = await errorOf({ ...shell, script: { execute: notFound, shell: notFound } });
    expect(error).toMatchObject({ type: "environment_start_failed", cause: "configuration" });
  });

  test("is not meant by a script whose last command is not there, nor by one after an install", async () => {
    const error = await errorOf({ ...shell, tasks: own, script: { execute: notFound } });
    expect(error).toMatchObject({ type: "agent_execution_failed", cause: "agent" });
    const agents = [{ name: "a", install: "rm /bin/bash", execute: "work" }];
    const later = { ...shell, tasks: own, config: { agents }, script: { execute: notFound, shell: notFound } };
    expect(await errorOf(later)).toMatchObject({ type: "agent_execution_failed", cause: "agent" });
  });
});

describe("tests that fail for want of room", () => {
  const failing: Act = async ({ stderr }) => {
    await stderr("echo: write error: No space left on device\n");
    return 1;
  };
  const leaving = (bytes: number | null): RigOptions => ({
    onEnvironment: (environment) => void (environment.freeBytes = async () => bytes),
  });

  test("are the agent's fault when it had filled its disk", async () => {
    const error = await errorOf({ ...leaving(4096), script: { test: failing } });
    expect(error).toMatchObject({ type: "verifier_failed", cause: "agent" });
    expect(error?.message).toMatch(
      /^the agent had left 4096 bytes of its 10G of storage to the tests; the test script/,
    );
  });

  test("are the task's when there was room, or nobody knows how much", async () => {
    for (const bytes of [2 ** 20, null])
      expect(await errorOf({ ...leaving(bytes), script: { test: failing } })).toMatchObject({ cause: "task" });
  });

  test("cost no reward that they gave all the same", async () => {
    const job = await runJobOnRig({ ...leaving(0), script: { test: giveReward("1\n") } });
    expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, error: null });
  });
});

describe("tests that fail beside something of the agent's", () => {
  const failing: Act = () => 137;
  const leaving: Act = ({ spawn }) => {
    spawn("watch-the-tests");
    return 0;
  };

  test("are the agent's fault when its processes are alive", async () => {
    const error = await errorOf({ script: { execute: leaving, test: failing } });
    expect(error).toMatchObject({ type: "verifier_failed", cause: "agent" });
    expect(error?.message).toContain("processes of the agent were running: watch-the-tests");
  });

  test("are the task's fault when the processes were ended before, or belong to the solution", async () => {
    const killed = { verifier: { leftovers: "kill" } };
    const script = { execute: leaving, solve: leaving, test: failing };
    expect(await errorOf({ config: killed, script })).toMatchObject({ cause: "task" });
    const tasks = { one: { files: { "solution/solve.sh": "" } } };
    const job = await runJobOnRig({ tasks, config: { agents: [{ name: "oracle" }] }, script });
    expect(job.trial("oracle/set/one__1").error).toMatchObject({ type: "verifier_failed", cause: "task" });
  });

  test("are the agent's fault when it changed the loader cache, which alone is no reason for distrust", async () => {
    const changing = (test: Act): RigOptions => ({
      ...shell,
      onEnvironment: (environment) => void (environment.changedTools = async () => ["/etc/ld.so.cache"]),
      script: { test },
    });
    expect(await errorOf(changing(failing))).toMatchObject({ cause: "agent" });
    const passed = (await runJobOnRig(changing(giveReward("1\n")))).trial(onlyTrial);
    expect(passed).toMatchObject({ reward: 1, untrusted: [] });
  });

  test("are the agent's fault when it left a git hook", async () => {
    const execute: Act = ({ files, environment }) => {
      files.write(`${environment.workdir.replace(/\/$/, "")}/.git/hooks/pre-commit`, "kill -9 $PPID");
      files.write(`${environment.workdir.replace(/\/$/, "")}/.git/hooks/update.sample`, "");
      return 0;
    };
    const error = await errorOf({ ...shell, script: { execute, test: failing } });
    expect(error).toMatchObject({ type: "verifier_failed", cause: "agent" });
    expect(error?.message).toMatch(/the agent had changed \S*\.git\/hooks\/pre-commit$/);
  });

  test("are the task's fault when nothing of the agent's is there", async () => {
    expect(await errorOf({ ...shell, script: { test: failing } })).toMatchObject({ cause: "task" });
  });
});
