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

test("a trial whose engine is restarted under it starts over, and what is left of the first try is named and can be cleaned", async (context) => {
  const reason = whyNoPrivateEngine();
  if (reason !== null) cannotRun(context, reason);
  await using engine = await openPrivateEngine();
  const room = await makeRoom();
  await room.writeTask("tasks/a", plainTask);
  await room.writeJob({
    ...agentOf(execute),
    environment: { type: "docker" },
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
  // What could not be removed while the engine was down was named, and goes now.
  const { client } = await openTestEngine(engine.env);
  const request = { method: "GET", path: "/containers/json", query: { all: true }, signal: never } as const;
  const left = await client.json<readonly { readonly Id: string }[]>(request);
  for (const { Id } of left) expect(stderr).toContain(Id.slice(0, 12));
  await room.run(["clean"], { env: engine.env });
  expect(await client.json(request)).toEqual([]);
  client[Symbol.dispose]();
});
