import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { describe, expect, test } from "vitest";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { openLocalRig } from "./local-rig.ts";
import { agentOf, command, type Room, type Running } from "./rollout-cli.ts";

const rig = await openLocalRig();
const trial = "jobs/job/agent/tasks/alpha__1";

async function makeLocalRoom(execute: string, preserve = "never"): Promise<Room> {
  const task = { test: "echo 0 > /logs/verifier/reward.txt" };
  const job = { ...agentOf(execute), environment: { type: "local", preserve_env: preserve } };
  const room = await rig.makeRoom({ alpha: task }, job);
  // What engines of this machine hold is not ours.
  const env = { DOCKER_HOST: `unix://${room.path("no-engine.sock")}` };
  return { ...room, run: (args, options = {}) => room.run(args, { ...options, env: { ...env, ...options.env } }) };
}

async function clean(room: Room, ...args: string[]): Promise<{ id: string; status: string; message: string }[]> {
  const { code, stdout, stderr } = await room.run(["clean", "--json", ...args]);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return (JSON.parse(stdout) as { environments: { id: string; status: string; message: string }[] }).environments;
}

describe("rollout enter", () => {
  test("opens a shell in what a trial kept, with its files, and ends with the exit code of the shell", async () => {
    const room = await makeLocalRoom("echo made > made.txt", "on_failure");
    const { stderr } = await room.run(["job.yaml"]);
    expect(stderr).toContain(`enter it with: rollout enter ${trial}\n`);
    const entered = await room.run([], {
      command: ["sh", "-c", `echo 'pwd; cat made.txt; exit 5' | '${command.join("' '")}' enter ${trial}`],
    });
    expect(entered).toMatchObject({ code: 5, stdout: "/app\nmade\n", stderr: "" });
    await clean(room, "--kept");
  });

  test("says what to do when nothing was kept, or the directory is no trial's", async () => {
    const room = await makeLocalRoom("true");
    await room.run(["job.yaml"]);
    const { code, stderr } = await room.run(["enter", trial]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/was not kept[^]*preserve_env=always/);
    expect(await room.run(["enter", "jobs/job"])).toMatchObject({ code: 2, stderr: expect.stringContaining("trial") });
  });
});

describe("rollout clean", () => {
  test("leaves alone what a living job uses, and removes it once its process was killed", async () => {
    const room = await makeLocalRoom("touch /logs/agent/begun; sleep 1000");
    const running = await startAndWait(room);
    expect(await clean(room)).toMatchObject([{ status: "in_use", message: expect.stringContaining(`${running.pid}`) }]);
    running.kill("SIGKILL");
    await running.ended;
    expect(await clean(room, "--dry-run")).toMatchObject([{ status: "would_be_removed" }]);
    expect(await clean(room)).toMatchObject([
      { status: "removed", message: `removed: left by process ${running.pid} on ${hostname()}` },
    ]);
    expect((await room.run(["clean"])).stdout).toBe("nothing is left of any run\n");
  });

  test("removes what was kept on purpose only when it is asked to", async () => {
    const room = await makeLocalRoom("true", "always");
    await room.run(["job.yaml"]);
    const [id = ""] =
      (await room.readJson<TrialResultFile>(`${trial}/result.json`)).teardown?.kept.map((k) => k.id) ?? [];
    expect(await clean(room)).toMatchObject([{ id, status: "kept" }]);
    expect(await clean(room, "--kept")).toMatchObject([{ id, status: "removed" }]);
    const { code, stderr } = await room.run(["enter", trial]);
    expect(code).toBe(2);
    expect(stderr).toContain(`there is no environment ${id}`);
  });

  test("removes all of one job, or one environment by its id", async () => {
    const room = await makeLocalRoom("true", "always");
    await room.run(["job.yaml", "--name", "one"]);
    await room.run(["job.yaml", "--name", "two"]);
    expect(await clean(room, "jobs/one")).toMatchObject([{ status: "removed" }]);
    const [{ id } = { id: "" }] = await clean(room);
    expect(await clean(room, id)).toMatchObject([{ id, status: "removed" }]);
    expect(await room.run(["clean", id])).toMatchObject({ code: 2, stderr: expect.stringContaining("neither a job") });
  });

  test("finds nothing where nothing ever ran", async () => {
    const room = await makeLocalRoom("true");
    expect((await room.run(["clean"])).stdout).toBe("nothing is left of any run\n");
  });
});

async function startAndWait(room: Room): Promise<Running> {
  const running = room.start(["job.yaml"]);
  await running.until("the agent runs", async () => {
    const log = existsSync(room.path("jobs/job/.rollout/log.jsonl"))
      ? await room.read("jobs/job/.rollout/log.jsonl")
      : "";
    return log.includes("agent_execution");
  });
  return running;
}
