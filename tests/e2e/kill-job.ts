import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, type TestContext } from "vitest";
import { base, makeDockerRoom, plainTask, type DockerRoom } from "./docker-rig.ts";
import type { Running, TaskOptions } from "./rollout-cli.ts";
import { openWatchedEngine, type WatchedEngine } from "./watched-engine.ts";

/** Where a job is when its process is told to end. */
export const killMoments = ["build", "create", "agent", "verifier", "teardown"] as const;

/** How it is told. */
export const killSignals = ["SIGINT", "SIGTERM", "SIGKILL"] as const;

export interface KillOptions {
  readonly context: TestContext;
  readonly signal: (typeof killSignals)[number];
  readonly moment: (typeof killMoments)[number];
}

const exitCodes = { SIGINT: 130, SIGTERM: 143 };
const cut = "jobs/job/oracle/tasks/b__1";

/** Kills a job in the middle of its second trial and checks that nothing is lost and, after the next start, nothing is left. */
export async function killJob({ context, signal, moment }: KillOptions): Promise<void> {
  const room = await makeDockerRoom(context);
  const engine = await openWatchedEngine(room.path("engine.sock"));
  const building = `sleep 600.${Math.floor(Math.random() * 1e9)}`;
  const tasks = { a: plainTask, b: slowTask(moment, building), c: plainTask };
  await room.writeDockerJob(tasks, { n_concurrent_trials: 1 });

  const running = room.startWith({ DOCKER_HOST: engine.address });
  await reachMoment(room, engine, running, moment, () => running.kill(signal));
  const end = await running.ended;
  await engine.settled();

  await expectResultsWhole(room);
  if (signal === "SIGKILL") {
    expect(end).toMatchObject({ signal, code: null });
    await expectCleanNextStart(room);
  } else {
    expect(end.code, end.stderr).toBe(exitCodes[signal]);
    await expectCancelled(room, moment);
  }
  expect(await room.containersOf(running.pid)).toEqual([]);
  while (processesWith(building) > 0) await sleep(50);
}

function slowTask(moment: KillOptions["moment"], building: string): TaskOptions {
  const wait = "echo begun; sleep 600";
  if (moment === "build")
    return { ...plainTask, toml: "", dockerfile: `FROM ${base}\nRUN echo begun && ${building}\n` };
  if (moment === "agent") return { ...plainTask, solution: wait };
  if (moment === "verifier") return { ...plainTask, test: wait };
  return plainTask;
}

async function reachMoment(
  room: DockerRoom,
  engine: WatchedEngine,
  running: Running,
  moment: KillOptions["moment"],
  kill: () => void,
): Promise<void> {
  const says = (file: string): boolean => existsSync(file) && readFileSync(file, "utf8").includes("begun");
  if (moment === "create" || moment === "teardown") {
    // For a create: the container exists, and nobody has been told of it.
    const [kind, start] = moment === "create" ? ["answered", "POST"] : ["asked", "DELETE"];
    const reached = Promise.withResolvers<void>();
    engine.watch((passing) => {
      const isSecond = passing.container?.endsWith("-1") ?? false;
      const isReached = isSecond && passing.kind === kind && passing.line.startsWith(start ?? "");
      if (isReached) kill();
      if (isReached) reached.resolve();
      return "pass";
    });
    await Promise.race([reached.promise, running.ended]);
    return;
  }
  const files = { agent: `${cut}/command/stdout.txt`, verifier: `${cut}/logs/verifier/stdout.txt` };
  await running.until(`the ${moment} has begun`, () =>
    moment === "build" ? buildLogs(room).some(says) : says(room.path(files[moment])),
  );
  kill();
}

function buildLogs(room: DockerRoom): string[] {
  const directory = room.path("jobs/job/.rollout/images");
  return existsSync(directory) ? readdirSync(directory).map((key) => `${directory}/${key}/build.log`) : [];
}

async function expectResultsWhole(room: DockerRoom): Promise<void> {
  expect(await room.trial("oracle/tasks/a__1")).toMatchObject({ reward: 1, error: null });
  for (const file of (await room.files("jobs/job")).filter((name) => name.endsWith("result.json")))
    expect(await room.readJson(`jobs/job/${file}`)).toBeTypeOf("object");
  const lines = (await room.read("jobs/job/.rollout/journal.jsonl")).split("\n").slice(0, -1);
  expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toContain("trial_finished");
}

async function expectCancelled(room: DockerRoom, moment: KillOptions["moment"]): Promise<void> {
  const trial = await room.trial("oracle/tasks/b__1");
  if (moment === "teardown") expect(trial).toMatchObject({ reward: 1, error: null });
  else expect(trial).toMatchObject({ reward: null, error: { type: "trial_cancelled" } });
  const result = await room.jobResult();
  expect(result.cancelled).toBe(true);
  expect(result.completed_trials + result.failed_trials + result.skipped_trials).toBe(3);
}

async function expectCleanNextStart(room: DockerRoom): Promise<void> {
  await room.writeDockerJob({ b: plainTask }, { name: "next" });
  const { code, stderr } = await room.runJob("--task", "a");
  expect(code, stderr).toBe(0);
}

// The engine's processes can be seen from here where it runs on this machine.
function processesWith(text: string): number {
  const commands = readdirSync("/proc").flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")] : [];
    } catch {
      return [];
    }
  });
  return commands.filter((command) => command.startsWith(text)).length;
}
