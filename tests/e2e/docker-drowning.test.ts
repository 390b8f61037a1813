import { describe, expect, test } from "vitest";
import { findEngines } from "../engines/find-engines.ts";
import { base, makeDockerRoom, plainTask } from "./docker-rig.ts";
import { openWatchedEngine } from "./watched-engine.ts";

const retry = { max_attempts: 2, initial_delay_ms: 10 };
const briefly = `[environment]\ndocker_image = "${base}"\nmemory = "256Mi"\n[agent]\ntimeout_sec = 3\n`;
const timedOut = { reward: null, tries: 1, error: { type: "agent_execution_timeout", cause: "agent" } };
const engines = await findEngines();

describe("an agent that starts more processes than it may", () => {
  test.for(engines.map(({ name, env }) => [name, env] as const))(
    "is ended at its limit, once, beside a neighbour that notices nothing: %s",
    async ([, env], context) => {
      const room = await makeDockerRoom(context, env);
      // 200 at most: no more are ever asked for.
      const many = "echo begun > /logs/agent/begun; for i in {1..200}; do sleep 300 & done; sleep 300";
      const calm = "sleep 2; mkdir -p /app; touch /app/done; echo said > /logs/agent/said";
      const agents = [
        { name: "many", execute: many },
        { name: "calm", execute: calm },
      ];
      const environment = { type: "docker", pids_limit: 64 };
      await room.writeDockerJob({ a: { ...plainTask, toml: briefly } }, { agents, retry, environment });
      const running = room.startJob();
      const { code, stderr } = await running.ended;
      expect(code, stderr).toBe(3);
      expect(await room.trial("many/tasks/a__1")).toMatchObject({
        ...timedOut,
        environment: { limits: { pids: 64 } },
      });
      expect(await room.read("jobs/job/many/tasks/a__1/logs/agent/begun")).toBe("begun\n");
      expect(await room.trial("calm/tasks/a__1")).toMatchObject({ reward: 1, tries: 1, error: null });
      expect(await room.read("jobs/job/calm/tasks/a__1/logs/agent/said")).toBe("said\n");
      expect(await room.containersOf(running.pid)).toEqual([]);
    },
  );
});

test("a limit holds when the engine answers late, and the agent is the cause, once", async (context) => {
  const room = await makeDockerRoom(context);
  const engine = await openWatchedEngine(room.path("engine.sock"));
  const agents = [{ name: "agent", execute: "echo begun; sleep 300" }];
  await room.writeDockerJob({ a: { ...plainTask, toml: briefly } }, { agents, retry });
  let isLate = false;
  engine.watch(({ kind }) => (isLate && kind === "answered" ? { lateMs: 4000 } : "pass"));
  const running = room.startWith({ DOCKER_HOST: engine.address });
  const output = "jobs/job/agent/tasks/a__1/command/stdout.txt";
  await running.until("it has begun", async () => (await room.read(output).catch(() => "")).includes("begun"));
  isLate = true;
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(3);
  expect(await room.trial("agent/tasks/a__1")).toMatchObject(timedOut);
  expect(await room.containersOf(running.pid)).toEqual([]);
});

test("a limit holds when the engine starts no command any more, and the agent is the cause, once", async (context) => {
  const room = await makeDockerRoom(context);
  const engine = await openWatchedEngine(room.path("engine.sock"));
  const agents = [{ name: "agent", execute: "echo begun; sleep 300" }];
  await room.writeDockerJob({ a: { ...plainTask, toml: briefly } }, { agents, retry });
  let isFull = false;
  engine.watch(({ kind, line }) => (isFull && kind === "asked" && / \S*\/exec(\/|$)/.test(line) ? "refuse" : "pass"));
  const running = room.startWith({ DOCKER_HOST: engine.address });
  const output = "jobs/job/agent/tasks/a__1/command/stdout.txt";
  await running.until("it has begun", async () => (await room.read(output).catch(() => "")).includes("begun"));
  isFull = true;
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(3);
  expect(await room.trial("agent/tasks/a__1")).toMatchObject(timedOut);
  expect(await room.containersOf(running.pid)).toEqual([]);
});
