import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { findEngines } from "../engines/find-engines.ts";
import { cannotRun, makeRoom, root } from "./rollout-cli.ts";

const docker = (await findEngines()).find(({ name }) => name === "docker");
const address = process.env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock";

test("an adapter that a job names by its path runs the job, here over a pool of engines", async (context) => {
  if (docker?.reason) cannotRun(context, docker.reason);
  const room = await makeRoom();
  const job = join(root, "examples/engine-pool/job.yaml");
  const { code, stdout, stderr } = await room.run([job, "--json", "--name", "pool"], {
    env: { FIRST_ENGINE: address, SECOND_ENGINE: address },
  });
  expect(code, stderr).toBe(0);
  const { result } = JSON.parse(stdout) as { result: JobResultFile };
  expect(Object.entries(result.agents).map(([name, { mean_reward }]) => [name, mean_reward])).toEqual([
    ["oracle", 1],
    ["nop", 0],
  ]);
  const trial = await room.readJson<TrialResultFile>("jobs/pool/oracle/tasks/write-a-file__1/result.json");
  expect(trial.environment?.["provider"]).toBe("docker");
});

test("an adapter says what its config lacks before anything starts", async () => {
  const room = await makeRoom();
  const job = join(root, "examples/engine-pool/job.yaml");
  const { code, stderr } = await room.run([job, "--set", "environment.provider_config={}"]);
  expect(code).toBe(2);
  expect(stderr).toContain("environment.provider_config.hosts: is required: a list of addresses");
});

test("an address of the pool that does not answer is told at its own key, and DOCKER_HOST is not blamed", async (context) => {
  if (docker?.reason) cannotRun(context, docker.reason);
  const room = await makeRoom();
  const job = join(root, "examples/engine-pool/job.yaml");
  const gone = `unix://${room.path("gone.sock")}`;
  const { code, stderr } = await room.run([job], { env: { FIRST_ENGINE: address, SECOND_ENGINE: gone } });
  expect(code, stderr).toBe(2);
  expect(stderr).toMatch(/job\.yaml:\d+:\d+ environment\.provider_config\.hosts\[1\]: the engine at /);
  expect(stderr).toContain(gone);
  expect(stderr).not.toContain("DOCKER_HOST");
  expect(await room.files("jobs")).toEqual([]);
});
