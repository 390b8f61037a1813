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
    expect(error).toMatchObject({ type: "environment_start_failed", cause: null, blame: "task" });
    expect(error?.message).toMatch(/^the task's image has no bash that runs, .*: env: 'bash': No such file/);
  });

  test("is the configuration's fault where it is the base that the job chose", async () => {
    const error = await errorOf({ ...shell, script: { execute: notFound, shell: notFound } });
    expect(error).toMatchObject({ type: "environment_start_failed", blame: "configuration" });
  });

  test("is not meant by a script whose last command is not there, nor by one after an install", async () => {
    const error = await errorOf({ ...shell, tasks: own, script: { execute: notFound } });
    expect(error).toMatchObject({ type: "agent_execution_failed", blame: "agent" });
    const agents = [{ name: "a", install: "rm /bin/bash", execute: "work" }];
    const later = { ...shell, tasks: own, config: { agents }, script: { execute: notFound, shell: notFound } };
    expect(await errorOf(later)).toMatchObject({ type: "agent_execution_failed", blame: "agent" });
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
    expect(error).toMatchObject({ type: "verifier_failed", cause: null, blame: "agent" });
    expect(error?.message).toMatch(
      /^the agent had left 4096 bytes of its 10G of storage to the tests; the test script/,
    );
  });

  test("are the task's when there was room, or nobody knows how much", async () => {
    for (const bytes of [2 ** 20, null])
      expect(await errorOf({ ...leaving(bytes), script: { test: failing } })).toMatchObject({ blame: "task" });
  });

  test("cost no reward that they gave all the same", async () => {
    const job = await runJobOnRig({ ...leaving(0), script: { test: giveReward("1\n") } });
    expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, error: null });
  });
});
