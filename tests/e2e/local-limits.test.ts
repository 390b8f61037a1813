import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openLocalRig, rewarding } from "./local-rig.ts";
import { cannotRun } from "./rollout-cli.ts";

const rig = await openLocalRig();

describe("where control groups keep the limits", () => {
  test("what takes too much memory is killed and told so, in each phase", async (context) => {
    const eat = "head -c 1G /dev/zero | tail";
    const toml = '[environment]\nmemory = "64Mi"\n';
    const phases = {
      install: { toml, instruction: `[ $1 != install ] || { ${eat}; }` },
      execute: { toml, instruction: `[ $1 = install ] || { ${eat}; }` },
      test: { toml, test: `${rewarding(1)}; ${eat}` },
    };
    const room = await rig.makeRoom(phases);
    const { code } = await room.run(["job.yaml"]);
    const found = await Promise.all(Object.keys(phases).map((name) => room.trial(`agent/tasks/${name}__1`)));
    if (JSON.stringify(found[0]?.environment).includes('"advisory"}') && process.getuid?.() !== 0)
      cannotRun(context, "an ordinary user cannot bound memory here");
    expect(code).toBe(3);
    expect(found.map(({ error }) => [error?.type, error?.message.split(";")[0]])).toEqual([
      ["agent_install_failed", "agent install was killed by the memory limit of 64Mi"],
      ["agent_execution_failed", "agent execution was killed by the memory limit of 64Mi"],
      ["verifier_failed", "the test script was killed by the memory limit of 64Mi"],
    ]);
  });

  test("memory in which nothing can start is told before the start, and a limit above the machine's is none", async () => {
    const room = await rig.makeRoom({ one: {} });
    const tiny = await room.run(["validate", "job.yaml", "--set", "environment.override_memory=1M"]);
    expect(tiny).toMatchObject({ code: 2, stdout: expect.stringContaining("it takes at least 8Mi") });
    const huge = await room.run(["job.yaml", "--set", "environment.override_memory=1000T"]);
    expect(huge).toMatchObject({ code: 0, stderr: expect.stringContaining("limits nothing: this machine has") });
    const { environment } = await room.trial("agent/tasks/one__1");
    expect(environment).toMatchObject({ limits: { memory: { bytes: 1e15, enforcement: "none" } } });
    const least = ["--name", "least", "--set", "environment.override_memory=8Mi"];
    expect(await room.run(["job.yaml", ...least])).toMatchObject({ code: 0 });
  });

  test("more processors than the kernel can count are environment_resource_allocation_failed", async (context) => {
    if (process.getuid?.() !== 0) cannotRun(context, "only root can bound processors");
    const room = await rig.makeRoom(
      { one: { toml: '[environment]\ncpus = "1e12"\n' } },
      { retry: { max_attempts: 0 } },
    );
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 3 });
    expect((await room.trial("agent/tasks/one__1")).error).toMatchObject({
      type: "environment_resource_allocation_failed",
      cause: "infrastructure",
    });
    expect(rig.environments()).toEqual([]);
  });

  test("a group that somebody else is in is environment_teardown_failed, and does not cost the reward", async (context) => {
    if (process.getuid?.() !== 0) cannotRun(context, "only root can bound processors");
    const room = await rig.makeRoom({
      one: { instruction: "[ $1 = install ] || until [ -e /tmp/go ]; do sleep 0.05; done" },
    });
    const running = room.start(["job.yaml"]);
    await running.until("an environment is there", () => rig.environments().length === 1);
    const [id = ""] = rig.environments();
    await running.until("the agent runs", () =>
      existsSync(room.path("jobs/job/agent/tasks/one__1/command/stdout.txt")),
    );
    const { groups } = rig.record(id);
    const stranger = spawn("sleep", ["4712"], { stdio: "ignore" });
    onTestFinished(() => void stranger.kill());
    writeFileSync(join(groups[0] ?? "", "cgroup.procs"), String(stranger.pid));
    writeFileSync(join(rig.environmentDir(id), "disk/volumes/tmp/go"), "");
    const { code, stderr } = await running.ended;
    stranger.kill();
    expect(code).toBe(0);
    expect(stderr).toContain(`environment ${id} was left behind`);
    expect(await room.trial("agent/tasks/one__1")).toMatchObject({
      reward: 1,
      error: { type: "environment_teardown_failed", message: expect.stringContaining("control groups") },
    });
    await rig.startAgain();
    expect([...rig.environments(), ...rig.mountsAndGroups([id])]).toEqual([]);
  });
});

test("an environment that somebody ends from outside is tried again, and is infrastructure's fault in the end", async () => {
  const room = await rig.makeRoom(
    { one: { instruction: "[ $1 = install ] || { echo begun > /logs/agent/begun; sleep 4711; }" } },
    { retry: { max_attempts: 1, initial_delay_ms: 1 } },
  );
  const running = room.start(["job.yaml"]);
  const ended = new Set<string>();
  for (let round = 0; round < 2; round++) {
    const isReady = (id: string): boolean =>
      !ended.has(id) && existsSync(join(rig.environmentDir(id), "disk/volumes/logs/agent/begun"));
    await running.until(`try ${round + 1} works`, () => rig.environments().some(isReady));
    const id = rig.environments().find(isReady) ?? "";
    ended.add(id);
    const { first } = rig.record(id);
    if (first === null) throw new Error(`${id} has no first process`);
    process.kill(first.pid, "SIGKILL");
  }
  expect(await running.ended).toMatchObject({ code: 3 });
  expect(await room.trial("agent/tasks/one__1")).toMatchObject({
    tries: 2,
    error: { type: "agent_execution_failed", cause: "infrastructure" },
  });
  expect(await room.read("jobs/job/agent/tasks/one__1/retries/1/error.txt")).toContain("has ended by itself");
});
