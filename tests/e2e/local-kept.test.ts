import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openLocalRig, rewarding, type LocalRoom } from "./local-rig.ts";

const rig = await openLocalRig();

// Each leaves a file and a daemon that does not want to end.
const work =
  "echo mine > /app/mine; (setsid bash -c \"trap '' TERM HUP; while :; do sleep 4717; done\" >/dev/null 2>&1 &)";
const tasks = {
  passes: { instruction: work },
  misses: { instruction: work, test: rewarding(0) },
  fails: { instruction: `${work}; [ $1 = install ]` },
};

async function runKeeping(preserve: string): Promise<{ room: LocalRoom; stderr: string; kept: string[] }> {
  const room = await rig.makeRoom(tasks, { environment: { type: "local", preserve_env: preserve } });
  const { code, stderr } = await room.run(["job.yaml"]);
  expect(code).toBe(3);
  const kept: string[] = [];
  for (const name of Object.keys(tasks)) {
    const { teardown } = await room.trial(`agent/tasks/${name}__1`);
    for (const { id, enter } of teardown?.kept ?? []) {
      kept.push(name);
      expect(enter).toBe(`rollout enter jobs/job/agent/tasks/${name}__1`);
      expect(stderr).toContain(`kept environment ${id}; enter it with: ${enter}`);
      expect(rig.environments()).toContain(id);
      expect(readFileSync(join(rig.environmentDir(id), "disk/upper/_/app/mine"), "utf8")).toBe("mine\n");
    }
  }
  return { room, stderr, kept };
}

async function expectOnlyFiles(count: number): Promise<void> {
  const ids = rig.environments();
  expect(ids).toHaveLength(count);
  expect([...rig.processes(), ...rig.debris(), ...rig.mountsAndGroups(ids)]).toEqual([]);
  // What was kept on purpose is no leftover.
  await rig.startAgain();
  expect(rig.environments()).toEqual(ids);
  for (const id of ids) await rig.remove(id);
  expect(rig.environments()).toEqual([]);
}

describe("what is kept of a job", () => {
  test.for([
    ["never", []],
    ["on_failure", ["misses", "fails"]],
    ["always", ["passes", "misses", "fails"]],
  ] as const)(
    "preserve_env %s keeps the files of %j, nothing that runs, and says how to enter",
    async ([mode, names]) => {
      const { kept, stderr } = await runKeeping(mode);
      expect(kept).toEqual(names);
      expect(stderr.match(/^kept environment/gm) ?? []).toHaveLength(names.length);
      await expectOnlyFiles(names.length);
    },
  );

  test.for([
    ["on_failure", 0],
    ["always", 1],
  ] as const)("of a cancelled trial preserve_env %s keeps %i", async ([mode, count]) => {
    const room = await rig.makeRoom(
      { one: { instruction: `${work}; echo begun; sleep 4717` } },
      { environment: { type: "local", preserve_env: mode } },
    );
    const running = room.start(["job.yaml"]);
    await running.until("the agent works", () => rig.processes().some((words) => words.endsWith("sleep 4717")));
    running.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130 });
    expect((await room.trial("agent/tasks/one__1")).teardown?.kept).toHaveLength(count);
    await expectOnlyFiles(count);
  });

  test("what several sessions of a job kept is removed with its directory's name", async () => {
    const room = await rig.makeRoom(
      { one: { instruction: work } },
      { environment: { type: "local", preserve_env: "always" } },
    );
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 0 });
    expect(await room.run(["resume", "jobs/job", "--attempts", "2"])).toMatchObject({ code: 0 });
    expect(rig.environments()).toHaveLength(2);
    expect(await room.run(["clean", "jobs/job"])).toMatchObject({ code: 0 });
    expect([...rig.environments(), ...rig.debris()]).toEqual([]);
  });

  test("a disk in memory cannot be kept: nothing of it is left, and no way in is promised", async () => {
    const environment = { type: "local", preserve_env: "always", provider_config: { storage: "memory" } };
    const room = await rig.makeRoom({ one: { instruction: work } }, { environment });
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(0);
    expect(stderr).not.toContain("kept environment");
    const told = 'environment.preserve_env: always keeps nothing: environment "local"';
    for (const word of ["validate", "plan"]) expect((await room.run([word, "job.yaml"])).stdout).toContain(told);
    const entered = await room.run(["enter", "jobs/job/agent/tasks/one__1"]);
    expect(entered.code).toBe(2);
    expect(entered.stderr).toContain("--set environment.provider_config.storage=disk");
    expect((await room.trial("agent/tasks/one__1")).warnings).toEqual([expect.stringContaining("could not be kept")]);
    expect([...rig.processes(), ...rig.environments(), ...rig.debris()]).toEqual([]);
  });
});

describe("a timeout ends daemons before anything is read", () => {
  const tick = (name: string): string => `while :; do echo tick >> /logs/agent/${name}; sleep 0.01; done`;
  const daemons = [
    `(setsid bash -c '${tick("session")}' >/dev/null 2>&1 &)`,
    `(bash -c "(trap '' TERM HUP INT; ${tick("stubborn")}) &" >/dev/null 2>&1 &)`,
    `setsid --fork setsid --fork bash -c "trap '' TERM; ${tick("forked")}" >/dev/null 2>&1`,
    `nohup bash -c '${tick("nohup")}' >/dev/null 2>&1 &`,
    "until [ $(ls /logs/agent | wc -l) = 4 ]; do sleep 0.01; done; sleep 4718",
  ].join("\n");
  const inPhase = (phase: string): string => `[ $1 != ${phase} ] || { ${daemons}\n}`;
  const cases = {
    install: { toml: "[agent]\ninstall_timeout_sec = 3\n", instruction: inPhase("install") },
    execute: { toml: "[agent]\ntimeout_sec = 3\n", instruction: inPhase("execute") },
    test: { toml: "[verifier]\ntimeout_sec = 3\n", test: daemons },
  };

  test("what they had written is collected whole, and they write nothing more", async () => {
    // Kept, so that what is on its disk at the end can be held against what was collected.
    const environment = { type: "local", preserve_env: "always" };
    const room = await rig.makeRoom(cases, { environment });
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 3 });
    for (const [name, type] of [
      ["install", "agent_install_timeout"],
      ["execute", "agent_execution_timeout"],
      ["test", "verifier_timeout"],
    ] as const) {
      const { error, teardown } = await room.trial(`agent/tasks/${name}__1`);
      expect(error?.type).toBe(type);
      const logs = join(rig.environmentDir(teardown?.kept[0]?.id ?? ""), "disk/volumes/logs/agent");
      for (const daemon of ["session", "stubborn", "forked", "nohup"]) {
        const collected = await room.read(`jobs/job/agent/tasks/${name}__1/logs/agent/${daemon}`);
        expect(collected).toMatch(/^(tick\n)+$/);
        expect(collected).toBe(readFileSync(join(logs, daemon), "utf8"));
      }
    }
    await expectOnlyFiles(3);
  });
});
