import { type Dirent, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeEach, expect, inject } from "vitest";
import type { EnvironmentProvider } from "../../src/environments/environment.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { openLocal } from "../providers/local/open-local.ts";
import { whyNoLocal } from "../providers/local/why-no-local.ts";
import { cannotRun, makeRoom, type Room, type TaskOptions } from "./rollout-cli.ts";

const never = new AbortController().signal;

/** A room whose jobs run on this machine. */
export interface LocalRoom extends Room {
  trial(key: string): Promise<TrialResultFile>;
}

/** One cache of the local environment for all tests of a file, and a look at what is there of it on the machine. */
export interface LocalRig {
  readonly cacheDir: string;
  /** A room with tasks in ./tasks that pass unless they say otherwise, and a job.yaml of the given keys. */
  makeRoom(
    tasks: Readonly<Record<string, TaskOptions>>,
    job?: Readonly<Record<string, unknown>>,
    cacheHome?: string,
  ): Promise<LocalRoom>;
  /** The folders of environments, by their ids. */
  environments(): string[];
  environmentDir(id: string): string;
  /** What is written about an environment: its first process and its control groups. */
  record(id: string): { readonly first: { readonly pid: number } | null; readonly groups: readonly string[] };
  /** What is still being removed. */
  debris(): string[];
  /** Words of every process of the machine that stands in one of its environments or works on one. */
  processes(): string[];
  /** Mounts of the host, and control groups of environments whose ids begin like that. */
  mountsAndGroups(ids: readonly string[]): string[];
  openProvider(): Promise<EnvironmentProvider>;
  /** Starts what the next job would start, so that what dead ones left is removed. */
  startAgain(): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Opens the rig of a test file; its tests are not run where the local environment cannot, and must leave nothing. */
export async function openLocalRig(): Promise<LocalRig> {
  const home = mkdtempSync(join(inject("sharedBaseDir"), "rollout-e2e-local-"));
  const cacheDir = join(home, "rollout");
  const local = join(cacheDir, "local");
  shareBase(local);
  const reason = await whyNoLocal(cacheDir);
  const rig: LocalRig = {
    cacheDir,
    async makeRoom(tasks, job = {}, cacheHome = home) {
      const room = bindRoom(await makeRoom(), cacheHome);
      for (const [name, options] of Object.entries(tasks))
        await room.writeTask(`tasks/${name}`, { ...quiet, ...options });
      await room.writeJob({ environment: { type: "local" }, ...instructed, ...job });
      return room;
    },
    environments: () => list(join(local, "environments")).filter((name) => name.startsWith("local-")),
    environmentDir: (id) => join(local, "environments", id),
    record: (id) => JSON.parse(readFileSync(join(rig.environmentDir(id), "record.json"), "utf8")),
    debris: () => list(join(local, "trash")),
    processes: () => findProcesses(basename(home)),
    mountsAndGroups(ids) {
      const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
      return [...mounts.filter((line) => line.includes(basename(home))), ...findGroups(ids)];
    },
    openProvider: () => openLocal(cacheDir),
    async startAgain() {
      await using provider = await openLocal(cacheDir);
      await provider.probe(never);
    },
    async remove(id) {
      await using provider = await openLocal(cacheDir);
      await provider.removeEnvironment(id, never);
    },
  };
  beforeEach((context) => void (reason !== null && cannotRun(context, reason)));
  afterAll(async () => {
    try {
      await eventually("nothing is left running", () => rig.processes());
      expect({ environments: rig.environments(), debris: rig.debris() }).toEqual({ environments: [], debris: [] });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
  return rig;
}

/** A test script that marks with the given reward. */
export const rewarding = (reward: number): string => `echo ${reward} > /logs/verifier/reward.txt`;

const quiet: TaskOptions = { instruction: ":", dockerfile: null, solution: null, test: rewarding(1) };

/** An agent whose instruction is the script that it runs, with the name of the phase as its argument. */
const instructed = {
  agents: [
    {
      name: "agent",
      install: 'bash "$ROLLOUT_TASK_INSTRUCTION" install',
      execute: 'bash "$ROLLOUT_TASK_INSTRUCTION" execute',
    },
  ],
};

/** Waits for a list to become empty, and fails with what is in it when it does not. */
export async function eventually(what: string, left: () => readonly string[], limitMs = 20_000): Promise<void> {
  for (const endMs = performance.now() + limitMs; left().length > 0 && performance.now() < endMs;) await sleep(20);
  expect(left(), what).toEqual([]);
}

function shareBase(local: string): void {
  mkdirSync(local, { recursive: true });
  for (const name of ["bases", "tools"]) {
    const shared = join(inject("sharedBaseDir"), name);
    mkdirSync(shared, { recursive: true });
    symlinkSync(shared, join(local, name));
  }
}

function bindRoom(room: Room, cacheHome: string): LocalRoom {
  const start: Room["start"] = (args, options = {}) =>
    room.start(args, { patienceMs: 110_000, ...options, env: { XDG_CACHE_HOME: cacheHome, ...options.env } });
  return {
    ...room,
    start,
    run: (args, options) => start(args, options).ended,
    trial: (key) => room.readJson(`jobs/job/${key}/result.json`),
  };
}

function list(path: string): string[] {
  try {
    return readdirSync(path).sort();
  } catch {
    return [];
  }
}

// A process belongs to an environment when its mounts lead to it, and to its making when its words or folder do.
function findProcesses(mark: string): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    const read = (what: () => string): string => {
      try {
        return what();
      } catch {
        return "";
      }
    };
    const words = read(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ");
    const mounts = read(() => readFileSync(`/proc/${pid}/mountinfo`, "utf8"));
    const folder = read(() => readlinkSync(`/proc/${pid}/cwd`));
    return `${words}${mounts}${folder}`.includes(mark) ? [`${pid} ${words.trim()}`] : [];
  });
}

function findGroups(ids: readonly string[]): string[] {
  const found: string[] = [];
  const pending = ["/sys/fs/cgroup"];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const entry of listEntries(path)) {
      if (!entry.isDirectory()) continue;
      if (ids.some((id) => entry.name.startsWith(`rollout-${id}`))) found.push(join(path, entry.name));
      else pending.push(join(path, entry.name));
    }
  }
  return found;
}

// Groups of others, of an engine's containers for one, come and go.
function listEntries(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}
