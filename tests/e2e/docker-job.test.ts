import { hostname } from "node:os";
import { describe, expect, test, type TestContext } from "vitest";
import { findEngines } from "../engines/find-engines.ts";
import { openDocker } from "../providers/docker/open-docker.ts";
import { cannotRun, makeRoom, type Room, type TaskOptions } from "./rollout-cli.ts";

const base = "FROM debian:bookworm-slim\n";
const passing = "test -f /app/done && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt";
const good: TaskOptions = { dockerfile: `${base}WORKDIR /app\n`, solution: "touch /app/done", test: passing };
const never = new AbortController().signal;

const docker = (await findEngines()).find(({ name }) => name === "docker");
const environment: Readonly<Record<string, string>> = process.env["DOCKER_HOST"]
  ? { DOCKER_HOST: process.env["DOCKER_HOST"] }
  : {};

async function makeDockerRoom(
  context: TestContext,
  tasks: Record<string, TaskOptions>,
  agents: object[],
): Promise<Room> {
  if (docker?.reason) cannotRun(context, docker.reason);
  const room = await makeRoom();
  for (const [name, options] of Object.entries(tasks)) await room.writeTask(`tasks/${name}`, options);
  await room.writeJob({ environment: { type: "docker" }, agents });
  return room;
}

async function runJob(room: Room, ...args: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await room.run(["job.yaml", "--json", ...args], { env: environment });
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function errorOf(room: Room, trial: string): Promise<{ type: string; message: string } | null> {
  return (await room.readJson<{ error: { type: string; message: string } | null }>(`jobs/job/${trial}/result.json`))
    .error;
}

async function leftovers(pid: number): Promise<number> {
  await using provider = await openDocker();
  const labels = { "rollout.owner-pid": String(pid), "rollout.owner-host": hostname() };
  return (await provider.findEnvironments(labels, never)).length;
}

describe("a job in containers:", () => {
  test("the oracle passes, nop does not, and nothing is left behind", async (context) => {
    const room = await makeDockerRoom(context, { a: good, b: good }, [{ name: "oracle" }, { name: "nop" }]);
    const running = room.start(["job.yaml"], { env: environment });
    expect((await running.ended).code).toBe(0);
    const rewards = await Promise.all(
      ["oracle/tasks/a__1", "oracle/tasks/b__1", "nop/tasks/a__1", "nop/tasks/b__1"].map((trial) =>
        room.read(`jobs/job/${trial}/logs/verifier/reward.txt`),
      ),
    );
    expect(rewards).toEqual(["1\n", "1\n", "0\n", "0\n"]);
    expect(await leftovers(running.pid)).toBe(0);
  });

  test("what goes wrong has its own type, and its neighbours go on", async (context) => {
    const tasks: Record<string, TaskOptions> = {
      good,
      broken: { ...good, dockerfile: `${base}RUN exit 3\n` },
      gone: { ...good, toml: '[environment]\ndocker_image = "localhost:9/no/image:1"\n' },
      greedy: {
        ...good,
        toml: '[environment]\nmemory = "64Mi"\n',
        solution: "dd if=/dev/zero of=/dev/null bs=400M count=1",
      },
      slow: { ...good, toml: "[agent]\ntimeout_sec = 1\n", solution: "sleep 600" },
      silent: { ...good, test: "true" },
    };
    const room = await makeDockerRoom(context, tasks, [{ name: "oracle" }]);
    await runJob(room);
    const errors: Record<string, { type: string; message: string } | null> = {};
    for (const name of Object.keys(tasks)) errors[name] = await errorOf(room, `oracle/tasks/${name}__1`);
    expect(errors).toMatchObject({
      good: null,
      broken: { type: "environment_build_failed" },
      gone: { type: "environment_image_pull_failed", message: expect.stringContaining("localhost:9/no/image:1") },
      greedy: { type: "agent_execution_failed", message: expect.stringContaining("memory limit") },
      slow: { type: "agent_execution_timeout" },
      silent: { type: "verifier_reward_missing" },
    });
  });

  test("after a kill the next start takes away what was left", async (context) => {
    const room = await makeDockerRoom(context, { a: { ...good, solution: "sleep 600" } }, [{ name: "oracle" }]);
    const killed = room.start(["job.yaml"], { env: environment });
    await killed.until("a container runs", async () => (await leftovers(killed.pid)) > 0);
    killed.kill("SIGKILL");
    await killed.ended;
    expect(await leftovers(killed.pid)).toBe(1);
    await room.writeTask("tasks/a", good);
    await room.writeJob({ name: "next", environment: { type: "docker" }, agents: [{ name: "oracle" }] });
    expect((await room.run(["job.yaml"], { env: environment })).code).toBe(0);
    expect(await leftovers(killed.pid)).toBe(0);
  });

  test("an interrupt ends the trials, removes their containers and keeps their results", async (context) => {
    const room = await makeDockerRoom(context, { a: { ...good, solution: "echo began; sleep 600" } }, [
      { name: "oracle" },
    ]);
    const running = room.start(["job.yaml"], { env: environment });
    await running.until("the agent prints", async () =>
      (await room.read("jobs/job/oracle/tasks/a__1/command/stdout.txt").catch(() => "")).includes("began"),
    );
    running.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect(await errorOf(room, "oracle/tasks/a__1")).toMatchObject({ type: "trial_cancelled" });
    expect(await leftovers(running.pid)).toBe(0);
  });

  test("without an engine nothing begins, and the way out is told", async () => {
    const room = await makeRoom();
    await room.writeTask("tasks/a", good);
    await room.writeJob({ environment: { type: "docker" }, agents: [{ name: "oracle" }] });
    const env = { DOCKER_HOST: "unix:///nowhere/docker.sock" };
    const { code, stderr } = await room.run(["job.yaml"], { env });
    expect(code).toBe(2);
    expect(stderr).toContain("no Docker engine answers at unix:///nowhere/docker.sock");
    expect(stderr).toContain("environment.type: local");
    expect(await room.files(".")).not.toContain("jobs/job/result.json");
  });
});
