import { expect, test } from "vitest";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { openPrivateEngine, whyNoPrivateEngine } from "../engines/private-engine.ts";
import { plainTask } from "./docker-rig.ts";
import { cannotRun, makeRoom } from "./rollout-cli.ts";

const diskBytes = 800 * 2 ** 20;
const patienceMs = 200_000;

test("a trial for which the engine has no room left is told so, and no retry is spent on it", async (context) => {
  const reason = whyNoPrivateEngine();
  if (reason !== null) cannotRun(context, reason);
  await using engine = await openPrivateEngine({ diskBytes });
  const room = await makeRoom();
  await room.writeTask("tasks/a", plainTask);
  await room.writeJob({
    environment: { type: "docker" },
    agents: [{ name: "oracle" }],
    retry: { max_attempts: 2, initial_delay_ms: 10 },
  });
  engine.fillDisk();
  const { code, stderr } = await room.start(["job.yaml"], { env: engine.env, patienceMs }).ended;
  expect(code, stderr).toBe(3);
  const trial = await room.readJson<TrialResultFile>("jobs/job/oracle/tasks/a__1/result.json");
  expect(trial).toMatchObject({
    tries: 1,
    reward: null,
    environment: null,
    error: {
      type: "environment_resource_allocation_failed",
      message: expect.stringContaining("no space left on device"),
      cause: "infrastructure",
    },
  });
  expect(await room.read("jobs/job/oracle/tasks/a__1/error.txt")).toContain("hint: make room");
});
