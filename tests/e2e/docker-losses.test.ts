import { describe, expect, test } from "vitest";
import { base, makeDockerRoom, plainTask, type DockerRoom } from "./docker-rig.ts";
import type { Running } from "./rollout-cli.ts";
import { openWatchedEngine, type EngineMoment } from "./watched-engine.ts";

const trialDir = "jobs/job/agent/tasks/a__1";
const never = new AbortController().signal;
// Waits in the first container, and passes in the one that comes after it.
const execute =
  'echo "begun in $HOSTNAME"; case $HOSTNAME in *-r1) mkdir -p /app; touch /app/done;; *) sleep 600;; esac';
const agents = [{ name: "agent", execute }];
const retry = { max_attempts: 1, initial_delay_ms: 10 };

const isRemoval = ({ kind, line, container }: EngineMoment): boolean =>
  kind === "asked" && line.startsWith("DELETE") && container !== null && !container.endsWith("-look");

async function untilBegun(room: DockerRoom, running: Running, file = `${trialDir}/command/stdout.txt`): Promise<void> {
  await running.until("it has begun", async () => (await room.read(file).catch(() => "")).includes("begun"));
}

async function expectSecondTry(room: DockerRoom, running: Running, why: string): Promise<void> {
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  expect(await room.trial("agent/tasks/a__1")).toMatchObject({ reward: 1, error: null, tries: 2 });
  expect(await room.read(`${trialDir}/retries/1/error.txt`)).toContain(why);
  expect(await room.read(`${trialDir}/retries/1/command/stdout.txt`)).toContain("begun in");
}

describe("a trial starts over in a new container when its own", () => {
  test("is removed by somebody else", async (context) => {
    const room = await makeDockerRoom(context);
    await room.writeDockerJob({ a: plainTask }, { agents, retry });
    const running = room.startJob();
    await untilBegun(room, running);
    for (const id of await room.containersOf(running.pid)) await room.removeContainer(id);
    await expectSecondTry(room, running, "the container");
    expect(await room.containersOf(running.pid)).toEqual([]);
  });

  test("is killed by somebody else", async (context) => {
    const room = await makeDockerRoom(context);
    await room.writeDockerJob({ a: plainTask }, { agents, retry });
    const running = room.startJob();
    await untilBegun(room, running);
    const [id = ""] = await room.containersOf(running.pid);
    await room.engine.client.text({ method: "POST", path: `/containers/${id}/kill`, signal: never });
    await expectSecondTry(room, running, "the container");
    expect(await room.containersOf(running.pid)).toEqual([]);
  });
});

test("a container that is removed while the tests run is told as infrastructure when no retry is left", async (context) => {
  const room = await makeDockerRoom(context);
  await room.writeDockerJob({ a: { ...plainTask, test: "echo begun; sleep 600" } });
  const running = room.startJob();
  await untilBegun(room, running, "jobs/job/oracle/tasks/a__1/logs/verifier/stdout.txt");
  for (const id of await room.containersOf(running.pid)) await room.removeContainer(id);
  expect(await running.ended).toMatchObject({ code: 3 });
  expect((await room.trial("oracle/tasks/a__1")).error).toMatchObject({
    type: "verifier_failed",
    cause: "infrastructure",
  });
  expect(await room.containersOf(running.pid)).toEqual([]);
});

test("an agent whose last program is killed is not taken for a lost container", async (context) => {
  const room = await makeDockerRoom(context);
  await room.writeDockerJob({ a: plainTask }, { agents: [{ name: "agent", execute: "kill -KILL $$" }], retry });
  expect(await room.runJob()).toMatchObject({ code: 3 });
  expect(await room.trial("agent/tasks/a__1")).toMatchObject({
    tries: 1,
    error: { type: "agent_execution_failed", message: expect.stringContaining("code 137"), cause: "agent" },
  });
});

test("a container that cannot be removed costs no reward, and is named", async (context) => {
  const room = await makeDockerRoom(context);
  const engine = await openWatchedEngine(room.path("engine.sock"));
  await room.writeDockerJob({ a: plainTask });
  engine.watch((moment) => (isRemoval(moment) ? "cut" : "pass"));
  const running = room.startWith({ DOCKER_HOST: engine.address });
  const { code, stderr } = await running.ended;
  const left = await room.containersOf(running.pid);
  expect(code, stderr).toBe(0);
  expect(left).toHaveLength(1);
  const [id = ""] = left;
  expect(stderr).toContain(id.slice(0, 12));
  expect(await room.trial("oracle/tasks/a__1")).toMatchObject({
    reward: 1,
    error: { type: "environment_teardown_failed", cause: "infrastructure" },
  });
  expect(await room.jobResult()).toMatchObject({ completed_trials: 1, failed_trials: 0, pass_rate: 1 });
  await room.removeContainer(id);
});

test("a second interrupt stops waiting for a removal that hangs, and tells how to do it by hand", async (context) => {
  const room = await makeDockerRoom(context);
  const engine = await openWatchedEngine(room.path("engine.sock"));
  await room.writeDockerJob({ a: plainTask }, { agents });
  const removal = Promise.withResolvers<void>();
  engine.watch((moment) => {
    if (!isRemoval(moment)) return "pass";
    removal.resolve();
    return "hold";
  });
  const running = room.startWith({ DOCKER_HOST: engine.address });
  await untilBegun(room, running);
  running.kill("SIGINT");
  await removal.promise;
  running.kill("SIGINT");
  const { code, stderr } = await running.ended;
  const [id = ""] = await room.containersOf(running.pid);
  expect(code).toBe(130);
  expect(stderr).toContain(`docker rm -f -v ${id.slice(0, 12)}`);
  expect(stderr).toContain("remove all that is left with: rollout clean");
  expect((await room.trial("agent/tasks/a__1")).error).toMatchObject({ type: "trial_cancelled" });
  expect(await room.startWords("clean").ended).toMatchObject({ code: 0 });
  expect(await room.containersOf(running.pid)).toEqual([]);
});

test.for([
  { refusals: 1, which: "the first", code: 0, outcome: { tries: 2, reward: 1, error: null } },
  {
    refusals: 1000,
    which: "every",
    code: 3,
    outcome: { tries: 2, error: { type: "agent_execution_failed", cause: "infrastructure" } },
  },
])("where the engine refuses $which command a job ends with $code after one retry", async (round, context) => {
  const room = await makeDockerRoom(context);
  const engine = await openWatchedEngine(room.path("engine.sock"));
  const passes = [{ name: "agent", execute: "mkdir -p /app; touch /app/done" }];
  await room.writeDockerJob({ a: plainTask }, { agents: passes, retry });
  let asked = 0;
  engine.watch(({ kind, line }) => {
    const isCommand = kind === "asked" && /^POST \S+\/containers\/\w+\/exec/.test(line);
    return isCommand && ++asked <= round.refusals ? "refuse" : "pass";
  });
  const running = room.startWith({ DOCKER_HOST: engine.address });
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(round.code);
  expect(await room.trial("agent/tasks/a__1")).toMatchObject(round.outcome);
  expect(await room.read(`${trialDir}/retries/1/error.txt`)).toContain("the engine is out of sorts");
  expect(await room.containersOf(running.pid)).toEqual([]);
});

test("an image that vanishes while a job runs fails what still needs it, and names it", async (context) => {
  const room = await makeDockerRoom(context);
  const dockerfile = `FROM ${base}\nRUN echo ${crypto.randomUUID()} > /id\n`;
  const waits = "echo begun; while [ ! -e /logs/agent/go ]; do sleep 0.1; done; mkdir -p /app; touch /app/done";
  const changes = { agents: [{ name: "agent", execute: waits }], n_attempts: 2, n_concurrent_trials: 1 };
  await room.writeDockerJob({ a: { ...plainTask, toml: "", dockerfile } }, changes);
  const running = room.startJob();
  await untilBegun(room, running);
  const [id = ""] = await room.containersOf(running.pid);
  const { client } = room.engine;
  const shown = await client.json<{ Config: { Image: string } }>({
    method: "GET",
    path: `/containers/${id}/json`,
    signal: never,
  });
  const image = shown.Config.Image;
  await client.text({
    method: "DELETE",
    path: `/images/${encodeURIComponent(image)}`,
    query: { force: true },
    signal: never,
  });
  await room.runInContainer(id, "touch", "/logs/agent/go");
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(3);
  expect(await room.trial("agent/tasks/a__1")).toMatchObject({ reward: 1, error: null });
  expect((await room.trial("agent/tasks/a__2")).error).toMatchObject({
    type: "environment_start_failed",
    message: expect.stringContaining(image),
    cause: "infrastructure",
  });
});

test("a container that ended by itself after its process was killed is removed by the next start", async (context) => {
  const room = await makeDockerRoom(context);
  await room.writeDockerJob({ a: plainTask }, { agents });
  const running = room.startJob();
  await untilBegun(room, running);
  const [id = ""] = await room.containersOf(running.pid);
  running.kill("SIGKILL");
  await running.ended;
  // As when the engine was started again. Somebody else's start may have been quicker.
  const kill = { method: "POST", path: `/containers/${id}/kill`, signal: never } as const;
  await room.engine.client.text(kill).catch(() => {});
  await room.writeDockerJob({ a: plainTask }, { name: "next" });
  expect(await room.runJob()).toMatchObject({ code: 0 });
  expect(await room.containersOf(running.pid)).toEqual([]);
});
