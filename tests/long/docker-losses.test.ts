import { expect, test } from "vitest";
import { makeDockerRoom, plainTask } from "../e2e/docker-rig.ts";
import { openWatchedEngine } from "../e2e/watched-engine.ts";

const trialDir = "jobs/job/agent/tasks/a__1";

test("a trial starts over when the connections to the engine are cut, and the old container goes", async (context) => {
  const room = await makeDockerRoom(context);
  const engine = await openWatchedEngine(room.path("engine.sock"));
  const execute = "echo begun; case $HOSTNAME in *-r1) mkdir -p /app; touch /app/done;; *) sleep 600;; esac";
  const retry = { max_attempts: 1, initial_delay_ms: 10 };
  await room.writeDockerJob({ a: plainTask }, { agents: [{ name: "agent", execute }], retry });
  const running = room.startWith({ DOCKER_HOST: engine.address });
  const said = `${trialDir}/command/stdout.txt`;
  await running.until("the agent has begun", async () => (await room.read(said).catch(() => "")).includes("begun"));
  engine.cut();
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  expect(await room.trial("agent/tasks/a__1")).toMatchObject({ reward: 1, error: null, tries: 2 });
  expect(await room.read(`${trialDir}/retries/1/error.txt`)).toContain("the engine");
  expect(await room.containersOf(running.pid)).toEqual([]);
});
