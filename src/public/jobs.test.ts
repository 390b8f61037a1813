import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../environments/memory/memory-provider.ts";
import type { MemoryHandler } from "../environments/memory/memory-handler.ts";
import { makeRoot, writeTask } from "../jobs/testing/temp-files.ts";
import { loadDataset, loadTask, readJob, resumeJob, runJob, verifyJob, type RunEvent } from "./jobs.ts";
import type { ProviderModule } from "./environments.ts";

const solve: MemoryHandler = ({ files, command }) => {
  if (command[1] === "/tests/test.sh") files.write("/logs/verifier/reward.txt", "1");
  return 0;
};

function providerOf(handler: MemoryHandler): ProviderModule {
  return {
    name: "mine",
    configSchema: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
    open: async ({ clock }) => createMemoryProvider({ handler, clock }),
  };
}

function makeJob(): { root: string; config: Record<string, unknown> } {
  const root = makeRoot();
  writeTask(join(root, "set", "one"));
  return {
    root,
    config: {
      name: "from-code",
      jobs_dir: join(root, "jobs"),
      environment: { type: "mine" },
      agents: [{ name: "a", execute: "e" }],
      datasets: [{ path: "set" }],
    },
  };
}

test("runJob runs a job given as an object on a provider given in code", async () => {
  const { root, config } = makeJob();
  const events: RunEvent[] = [];
  const run = await runJob(config, {
    baseDir: root,
    environments: { mine: providerOf(solve) },
    onEvent: (event) => events.push(event),
  });
  expect(run).toMatchObject({
    dir: join(root, "jobs", "from-code"),
    leftBehind: [],
    result: { completed_trials: 1, pass_rate: 1 },
  });
  expect(JSON.parse(readFileSync(join(run.dir, "result.json"), "utf8"))).toEqual(run.result);
  expect((await readJob(run.dir)).result).toEqual(run.result);
  expect(events.map(({ type }) => type)).toEqual([
    "run_started",
    "unit_started",
    "unit_phase",
    "unit_phase",
    "unit_phase",
    "unit_finished",
    "run_finished",
  ]);
});

test("runJob takes the path of a job file, with the handler of the memory provider beside it", async () => {
  const { root } = makeJob();
  writeFileSync(
    join(root, "handler.mjs"),
    `export const handler = ({ files, command }) => {
    if (command[1] === "/tests/test.sh") files.write("/logs/verifier/reward.txt", "0.5");
    return 0;
  };\n`,
  );
  writeFileSync(
    join(root, "job.yaml"),
    `name: from-file\njobs_dir: ${join(root, "jobs")}\nenvironment: { type: memory, provider_config: { handler: ./handler.mjs } }\nagents: [{ name: nop }]\ndatasets: [{ path: set }]\n`,
  );
  const { result } = await runJob(join(root, "job.yaml"));
  expect(result).toMatchObject({ job_name: "from-file", mean_reward: 0.5 });
});

test("runJob is cancelled by its signal and resolves with what there is", async () => {
  const { root, config } = makeJob();
  const stop = new AbortController();
  const handler: MemoryHandler = () => {
    stop.abort();
    return new Promise<number>(() => {});
  };
  const run = await runJob(config, { baseDir: root, environments: { mine: providerOf(handler) }, signal: stop.signal });
  expect(run.result).toMatchObject({ cancelled: true, failed_trials: 1, errors: { trial_cancelled: 1 } });
});

test("resumeJob runs what a cancelled job left, on the same provider, and verifyJob is content with it", async () => {
  const { root, config } = makeJob();
  writeTask(join(root, "set", "two"));
  const stop = new AbortController();
  const handler: MemoryHandler = () => {
    stop.abort();
    return new Promise<number>(() => {});
  };
  const first = await runJob(config, {
    baseDir: root,
    environments: { mine: providerOf(handler) },
    signal: stop.signal,
  });
  expect(first.result.completed_trials).toBe(0);
  const { result, dir } = await resumeJob(first.dir, { environments: { mine: providerOf(solve) } });
  expect(result).toMatchObject({ completed_trials: 2, cancelled: false });
  expect(await verifyJob(dir)).toMatchObject({ hasEnded: true, trials: 2, differences: [] });
  await expect(resumeJob(root)).rejects.toMatchObject({ code: "not_found" });
});

test("runJob rejects with every problem of the job before anything starts", async () => {
  const { root, config } = makeJob();
  const run = runJob({ ...config, n_atempts: 2, agents: [] }, { baseDir: root });
  const isBoth = (problems: { path: string }[]): boolean =>
    problems
      .map(({ path }) => path)
      .sort()
      .join() === "agents,n_atempts";
  await expect(run).rejects.toMatchObject({ code: "config_invalid", problems: expect.toSatisfy(isBoth) });
});

test("runJob runs the selected tasks only", async () => {
  const { root, config } = makeJob();
  writeTask(join(root, "set", "two"));
  const environments = { mine: providerOf(solve) };
  const { result } = await runJob(config, { baseDir: root, environments, selection: { include: ["two"] } });
  expect(result.results.map(({ task_name }) => task_name)).toEqual(["two"]);
});

test("tasks and datasets can be loaded without running them", async () => {
  const { root } = makeJob();
  expect(await loadTask(join(root, "set", "one"))).toMatchObject({
    status: "ready",
    name: "one",
    datasetName: "tasks",
  });
  const dataset = await loadDataset({ kind: "path", path: join(root, "set"), name: "set", nConcurrent: null });
  expect(dataset.tasks.map(({ name }) => name)).toEqual(["one"]);
});
