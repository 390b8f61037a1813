import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import { eventually, openLocalRig, rewarding, type LocalRoom } from "./local-rig.ts";
import { cannotRun, type Running, type TaskOptions } from "./rollout-cli.ts";

const rig = await openLocalRig();
const finished = "agent/tasks/a-finished__1";
const cut = "agent/tasks/b-cut__1";

// A daemon that ignores what can be ignored, and a command that waits for good.
const hang =
  "(setsid bash -c \"trap '' TERM HUP INT; while :; do sleep 4713; done\" >/dev/null 2>&1 &); echo begun; sleep 4713";

interface Phase {
  readonly task: TaskOptions;
  /** Resolves at the moment in which the signal is to come; gives what is to be done right after it. */
  readonly arrive: (running: Running, room: LocalRoom) => Promise<() => void>;
}

const hangs: Phase["arrive"] = async (running) => {
  await running.until("it hangs", () => rig.processes().filter((words) => words.endsWith("sleep 4713")).length >= 2);
  return () => {};
};

const phases: Readonly<Record<string, Phase>> = {
  build: { task: { dockerfile: `FROM debian\nRUN touch /layer\nRUN ${hang}\n` }, arrive: hangs },
  create: {
    task: {},
    async arrive(running) {
      await running.until("it is being made", () => rig.environments().some((id) => /-1-[^-]+$/.test(id)));
      return () => {};
    },
  },
  setup: { task: { instruction: `[ $1 != install ] || { ${hang}; }` }, arrive: hangs },
  agent: { task: { instruction: `[ $1 = install ] || { ${hang}; }` }, arrive: hangs },
  verifier: { task: { test: `${rewarding(1)}; ${hang}` }, arrive: hangs },
  teardown: {
    task: { instruction: "[ $1 = install ] || { echo begun; until [ -e /tmp/go ]; do sleep 0.05; done; }" },
    arrive: holdTeardown,
  },
};

// A stranger in its control group keeps an environment from being removed.
async function holdTeardown(running: Running, room: LocalRoom): Promise<() => void> {
  const begun = room.path("jobs/job", cut, "command/stdout.txt");
  await running.until("the agent works", () => existsSync(begun) && readFileSync(begun, "utf8") === "begun\n");
  const [id = ""] = rig.environments();
  const { groups } = rig.record(id);
  const stranger = spawn("sleep", ["4714"], { stdio: "ignore" });
  onTestFinished(() => void stranger.kill());
  writeFileSync(join(groups[0] ?? "", "cgroup.procs"), String(stranger.pid));
  writeFileSync(join(rig.environmentDir(id), "disk/volumes/tmp/go"), "");
  const journal = room.path("jobs/job/.rollout/journal.jsonl");
  await running.until("its result is there", () => readFileSync(journal, "utf8").split("trial_finished").length > 2);
  return () => stranger.kill();
}

async function startAndArrive(
  phase: string,
): Promise<{ room: LocalRoom; running: Running; ids: string[]; after: () => void }> {
  const { task, arrive } = phases[phase] ?? { task: {}, arrive: hangs };
  const room = await rig.makeRoom({ "a-finished": {}, "b-cut": task }, { n_concurrent_trials: 1 });
  const running = room.start(["job.yaml"]);
  const after = await arrive(running, room);
  return { room, running, ids: rig.environments(), after };
}

function refuseWithoutGroups(phase: string, context: Parameters<typeof cannotRun>[0]): void {
  if (phase === "teardown" && process.getuid?.() !== 0)
    cannotRun(context, "only root has control groups with which a removal can be held up");
}

describe("a job that is killed leaves no process, and the next one removes its files, mounts and groups", () => {
  test.for(Object.keys(phases))("in the phase %s", async (phase, context) => {
    refuseWithoutGroups(phase, context);
    const { room, running, ids, after } = await startAndArrive(phase);
    expect(ids).not.toEqual([]);
    running.kill("SIGKILL");
    after();
    expect(await running.ended).toMatchObject({ signal: "SIGKILL" });
    await eventually("no process is left", () => rig.processes());
    await rig.startAgain();
    expect([...rig.environments(), ...rig.debris(), ...rig.mountsAndGroups(ids)]).toEqual([]);
    expect(await room.trial(finished)).toMatchObject({ reward: 1, error: null });
    const shown = await room.run(["show", "jobs/job", "--json"]);
    const count = phase === "teardown" ? 2 : 1;
    expect(JSON.parse(shown.stdout)).toMatchObject({
      run: { status: "interrupted", counts: { completed: count }, ended_at: null },
    });
  });
});

describe("a job that is interrupted ends what runs, writes every result and leaves nothing", () => {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const rounds = Object.keys(phases).flatMap((phase) => signals.map((signal) => [signal, phase] as const));
  test.for(rounds)("by %s in the phase %s", async ([signal, phase], context) => {
    refuseWithoutGroups(phase, context);
    const { room, running, ids, after } = await startAndArrive(phase);
    running.kill(signal);
    await running.until("it is stopping", () => running.stderr().includes("stopping"));
    after();
    const { code, stderr } = await running.ended;
    expect(code).toBe(signal === "SIGINT" ? 130 : 143);
    expect(stderr).not.toContain("left behind");
    expect([...rig.processes(), ...rig.environments(), ...rig.debris(), ...rig.mountsAndGroups(ids)]).toEqual([]);
    expect(await room.trial(finished)).toMatchObject({ reward: 1, error: null });
    const { error, reward } = await room.trial(cut);
    if (phase === "teardown") expect({ error, reward }).toEqual({ error: null, reward: 1 });
    else expect({ type: error?.type, reward }).toEqual({ type: "trial_cancelled", reward: null });
    expect(await room.readJson<JobResultFile>("jobs/job/result.json")).toMatchObject({
      cancelled: true,
      total_trials: 2,
    });
  });
});

test("a job that is killed while it makes the base leaves nothing that the next one does not remove", async () => {
  const room = await rig.makeRoom({ one: {} });
  // A cache in which there is no base yet.
  const env = { XDG_CACHE_HOME: room.path("home/cache") };
  const list = (name: string): string[] => {
    const path = room.path("home/cache/rollout/local", name);
    return existsSync(path) ? readdirSync(path) : [];
  };
  const killed = room.start(["job.yaml"], { env });
  await killed.until("the base is being made", () => list("bases").length > 0);
  expect(list("bases")).toEqual([expect.stringContaining(".")]);
  killed.kill("SIGKILL");
  await killed.ended;
  expect(await room.run(["job.yaml", "--name", "next"], { env })).toMatchObject({ code: 0 });
  expect(list("bases")).toEqual([expect.stringMatching(/^host-[0-9a-f]+$/)]);
  expect([...list("trash"), ...list("environments")]).toEqual([]);
});
