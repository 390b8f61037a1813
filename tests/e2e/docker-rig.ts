import { hostname } from "node:os";
import { onTestFinished, type TestContext } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import type { Engine } from "../../src/environments/docker/connection/open-engine.ts";
import { findEngines } from "../engines/find-engines.ts";
import { openTestEngine } from "../engines/open-test-engine.ts";
import { cannotRun, makeRoom, type Ended, type Room, type Running, type TaskOptions } from "./rollout-cli.ts";

/** The image that the tests' tasks start from; every engine of the tests has it. */
export const base = "debian:bookworm-slim";

const never = new AbortController().signal;
const passes = "test -f /app/done && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt";
// An engine that others use as well is slow at times; only a hang takes this long.
const patienceMs = 300_000;

/** A task that is passed by its solution alone, in a container of an image that needs no build. */
export const plainTask: TaskOptions = {
  toml: `[environment]\ndocker_image = "${base}"\nmemory = "256Mi"\n`,
  dockerfile: null,
  solution: "mkdir -p /app && touch /app/done",
  test: passes,
};

/** A room whose jobs run in containers of a real engine. */
export interface DockerRoom extends Room {
  readonly engine: Engine;
  writeDockerJob(
    tasks: Readonly<Record<string, TaskOptions>>,
    changes?: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  startJob(...args: string[]): Running;
  /** Starts the command with other words than the job's. */
  startWords(...words: string[]): Running;
  /** The same as `startJob` with variables of its own. */
  startWith(env: Readonly<Record<string, string>>): Running;
  runJob(...args: string[]): Promise<Ended>;
  jobResult(): Promise<JobResultFile>;
  trial(name: string): Promise<TrialResultFile>;
  /** Containers that a process of ours has made and that are still there. */
  containersOf(pid: number): Promise<string[]>;
  removeContainer(id: string): Promise<void>;
  /** Starts a command in a container, behind the back of the job. */
  runInContainer(id: string, ...command: string[]): Promise<void>;
}

/** Makes a room on the Docker engine of this machine, or ends the test and says why there is none. */
export async function makeDockerRoom(
  context: TestContext,
  given: Readonly<Record<string, string>> = {},
): Promise<DockerRoom> {
  const docker = (await findEngines()).find(({ name }) => name === "docker");
  if (!docker || docker.reason !== null) cannotRun(context, docker?.reason ?? "there is no Docker engine");
  const room = await makeRoom();
  const engine = await openTestEngine(docker.env);
  onTestFinished(() => engine.client[Symbol.dispose]());
  const env = { ...engineVariables(), ...docker.env, ...given };
  const startWords = (...words: string[]): Running => room.start(words, { env, patienceMs });
  const startJob = (...args: string[]): Running => startWords("job.yaml", ...args);
  return {
    ...room,
    engine,
    async writeDockerJob(tasks, changes = {}) {
      for (const [name, options] of Object.entries(tasks)) await room.writeTask(`tasks/${name}`, options);
      const retry = { max_attempts: 0 };
      await room.writeJob({ environment: { type: "docker" }, agents: [{ name: "oracle" }], retry, ...changes });
    },
    startWords,
    startJob,
    startWith: (more) => room.start(["job.yaml"], { env: { ...env, ...more }, patienceMs }),
    runJob: (...args) => startJob(...args).ended,
    jobResult: () => room.readJson<JobResultFile>("jobs/job/result.json"),
    trial: (name) => room.readJson<TrialResultFile>(`jobs/job/${name}/result.json`),
    containersOf: (pid) => listContainersOf(engine, pid),
    async runInContainer(id, ...Cmd) {
      const path = `/containers/${id}/exec`;
      const { Id } = await engine.client.json<{ Id: string }>({ method: "POST", path, json: { Cmd }, signal: never });
      const start = { method: "POST", path: `/exec/${Id}/start`, json: { Detach: true }, signal: never } as const;
      await engine.client.text(start);
    },
    async removeContainer(id) {
      const query = { force: true, v: true };
      await engine.client.text({ method: "DELETE", path: `/containers/${id}`, query, signal: never });
    },
  };
}

/** The variables of this process that lead the command to the same engine. */
export function engineVariables(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([key, value]) => (key.startsWith("DOCKER_") && value ? [[key, value]] : [])),
  );
}

async function listContainersOf({ client }: Engine, pid: number): Promise<string[]> {
  const label = [`rollout.owner-pid=${pid}`, `rollout.owner-host=${hostname()}`];
  const query = { all: true, filters: JSON.stringify({ label }) };
  const path = "/containers/json";
  const rows = await client.json<readonly { readonly Id: string }[]>({ method: "GET", path, query, signal: never });
  return rows.map(({ Id }) => Id);
}
