import { expect, test } from "vitest";
import { openPrivateEngine, whyNoPrivateEngine } from "../engines/private-engine.ts";
import { openTestEngine } from "../engines/open-test-engine.ts";
import { plainTask } from "./docker-rig.ts";
import { agentOf, cannotRun, makeRoom } from "./rollout-cli.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";

const never = new AbortController().signal;
const trialDir = "jobs/job/agent/tasks/a__1";
const execute =
  'echo "begun in $HOSTNAME"; case $HOSTNAME in *-r*) mkdir -p /app; touch /app/done;; *) sleep 600;; esac';

test("a trial whose engine is restarted under it starts over, and nothing of the first try is left", async (context) => {
  const reason = whyNoPrivateEngine();
  if (reason !== null) cannotRun(context, reason);
  await using engine = await openPrivateEngine();
  const room = await makeRoom();
  await room.writeTask("tasks/a", plainTask);
  await room.writeJob({
    ...agentOf(execute),
    environment: { type: "docker", provider_config: { network: "none" } },
    retry: { max_attempts: 8, initial_delay_ms: 200 },
  });
  const running = room.start(["job.yaml"], { env: engine.env, patienceMs: 200_000 });
  const begun = async (): Promise<boolean> =>
    (await room.read(`${trialDir}/command/stdout.txt`).catch(() => "")) !== "";
  await running.until("the agent has begun", begun);
  await engine.restart();
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  const trial = await room.readJson<TrialResultFile>(`${trialDir}/result.json`);
  expect(trial).toMatchObject({ reward: 1, error: null });
  expect(trial.tries).toBeGreaterThan(1);
  expect(await room.read(`${trialDir}/retries/1/command/stdout.txt`)).toContain("begun in");
  const { client } = await openTestEngine(engine.env);
  const path = "/containers/json";
  expect(await client.json({ method: "GET", path, query: { all: true }, signal: never })).toEqual([]);
  client[Symbol.dispose]();
});
