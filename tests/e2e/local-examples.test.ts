import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { openLocalRig } from "./local-rig.ts";
import { cannotRun } from "./rollout-cli.ts";

const rig = await openLocalRig();
const examples = join(import.meta.dirname, "../../examples");

test("the hello-world job runs on this machine: the oracle passes, nop does not, the scripted agent misses one", async () => {
  const room = await rig.makeRoom({});
  cpSync(join(examples, "hello-world"), room.path("hello-world"), { recursive: true });
  const { code, stdout } = await room.run(["hello-world/job.yaml", "--json", "--name", "hello"]);
  const { result } = JSON.parse(stdout) as { result: JobResultFile };
  expect(code).toBe(0);
  expect(Object.entries(result.agents).map(([name, stats]) => [name, stats.mean_reward])).toEqual([
    ["oracle", 1],
    ["nop", 0],
    ["scripted", 2 / 3],
  ]);
  const trial = await room.readJson<TrialResultFile>("jobs/hello/oracle/tasks/fix-a-script__1/result.json");
  expect(trial.environment).toMatchObject({ provider: "local", base: { kind: "host" } });
  expect(JSON.stringify(trial.environment?.["deviations"])).toContain("debian:bookworm-slim");
});

test("ten tasks like those people set: the oracle passes all, nop none, and nothing is left", async (context) => {
  const room = await rig.makeRoom({});
  const tools = await room.run([], { command: ["sh", "-c", "command -v cc make python3 git"] });
  if (tools.code !== 0) cannotRun(context, "the tasks need cc, make, python3 and git on the host");
  cpSync(join(examples, "workshop"), room.path("workshop"), { recursive: true });
  const { stdout } = await room.run(["workshop/job.yaml", "--json"]);
  const { result } = JSON.parse(stdout) as { result: JobResultFile };
  const missed = result.results.filter(({ agent_name: agent, reward }) => reward !== (agent === "oracle" ? 1 : 0));
  expect(missed).toEqual([]);
  expect(result.completed_trials).toBe(20);
  const mounts = await room.run([], { command: ["cat", "/proc/mounts"] });
  expect(mounts.stdout).not.toContain(room.path("home"));
});
