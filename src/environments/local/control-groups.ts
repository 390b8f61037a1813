import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { defaultPidsLimit, type ResourceLimits } from "../environment.ts";

const periodUs = 100_000;
const removalMs = 5000;

/** Where groups of an environment can be made: a directory for each controller (v1), or one for all (v2). */
export type GroupPlaces =
  | { readonly version: 1; readonly memory: string; readonly cpu: string; readonly pids: string }
  /** In the order in which they are tried. */
  | { readonly version: 2; readonly parents: readonly string[] };

/** Finds the places below our own groups, so that what bounds us bounds the environments too; null when there are none. */
export function planGroupPlaces(mountinfo: string, ownGroups: string): GroupPlaces | null {
  const mounts = mountinfo.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [type = "", , options = ""] = after.split(" ");
    const [, , , root = "/", path = ""] = before.split(" ");
    return type.startsWith("cgroup") ? [{ type, path, root, controllers: options.split(",") }] : [];
  });
  const groups = ownGroups.split("\n").flatMap((line) => {
    const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    return names === undefined || path === undefined ? [] : [{ controllers: names.split(","), path }];
  });
  const place = (controller: string): string | null => {
    const mount = mounts.find((entry) => entry.type === "cgroup" && entry.controllers.includes(controller));
    const own = groups.find((entry) => entry.controllers.includes(controller));
    return mount && own ? join(mount.path, own.path).replace(/(.)\/$/, "$1") : null;
  };
  const [memory, cpu, pids] = [place("memory"), place("cpu"), place("pids")];
  if (memory !== null && cpu !== null && pids !== null) return { version: 1, memory, cpu, pids };
  const unified = mounts.find((entry) => entry.type === "cgroup2");
  const own = groups.find((entry) => entry.controllers.includes(""));
  if (!unified || !own || memory !== null) return null;
  const ownPath = join(unified.path, own.path).replace(/(.)\/$/, "$1");
  // A group with processes of its own can have no controlled groups below it, but its siblings are bounded alike.
  return { version: 2, parents: ownPath === unified.path ? [ownPath] : [ownPath, dirname(ownPath)] };
}

/** The places on this machine where we may make groups; null when there are none. */
export function findGroupPlaces(): GroupPlaces | null {
  try {
    const places = planGroupPlaces(
      readFileSync("/proc/self/mountinfo", "utf8"),
      readFileSync("/proc/self/cgroup", "utf8"),
    );
    if (places?.version === 1)
      for (const path of [places.memory, places.cpu, places.pids]) accessSync(path, constants.W_OK);
    if (places?.version !== 2) return places;
    const parents = places.parents.filter((path) => canControl(path));
    return parents.length === 0 ? null : { version: 2, parents };
  } catch {
    return null;
  }
}

function canControl(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    const enabled = readFileSync(join(path, "cgroup.subtree_control"), "utf8").split(/\s+/);
    if (["memory", "cpu", "pids"].every((name) => enabled.includes(name))) return true;
    writeFileSync(join(path, "cgroup.subtree_control"), "+memory +cpu +pids");
    return true;
  } catch {
    return false;
  }
}

/** The groups that bound one environment. */
export interface ControlGroups {
  /** Their directories, for whoever removes them later. */
  readonly directories: readonly string[];
  /** Shell text with which a process joins them. */
  readonly prelude: string;
  /** The same for the first process, which must be able to end the others when they have used up the processors. */
  readonly firstPrelude: string;
  /** How often the memory limit has killed a process. */
  countMemoryKills(): number;
  /** Does work without the limit on processors. */
  whileUnthrottled<T>(work: () => Promise<T>): Promise<T>;
}

/** What is written where, in this order. */
export function planGroupSettings(places: GroupPlaces, name: string, limits: ResourceLimits): [string, string][] {
  const memory = String(Math.floor(limits.memoryBytes));
  const pids = String(limits.pids ?? defaultPidsLimit);
  const quota = String(Math.max(1000, Math.round(limits.cpus * periodUs)));
  if (places.version === 1) {
    return [
      [join(places.memory, name, "memory.limit_in_bytes"), memory],
      [join(places.memory, name, "memory.memsw.limit_in_bytes"), memory],
      [join(places.cpu, name, "cpu.cfs_period_us"), String(periodUs)],
      [join(places.cpu, name, "cpu.cfs_quota_us"), quota],
      [join(places.pids, name, "pids.max"), pids],
    ];
  }
  const directory = join(places.parents[0] ?? "", name);
  return [
    [join(directory, "memory.max"), memory],
    [join(directory, "memory.swap.max"), "0"],
    [join(directory, "cpu.max"), `${quota} ${periodUs}`],
    [join(directory, "pids.max"), pids],
  ];
}

/** The directories that the groups of an environment will have. */
export function planGroupDirectories(places: GroupPlaces, name: string): string[] {
  const parents = places.version === 1 ? [places.memory, places.cpu, places.pids] : places.parents.slice(0, 1);
  return [...new Set(parents)].map((parent) => join(parent, name));
}

/** Makes the groups of an environment; rejects with `resource_allocation_failed`. */
export function openControlGroups(places: GroupPlaces, name: string, limits: ResourceLimits): ControlGroups {
  const directories = planGroupDirectories(places, name);
  try {
    for (const directory of directories) mkdirSync(directory, { recursive: true });
    // Kernels without swap accounting lack the files that bound swap.
    for (const [file, value] of planGroupSettings(places, name, limits))
      if (existsSync(file)) writeFileSync(file, value);
  } catch (error) {
    for (const directory of directories) tryRemove(directory);
    throw new RolloutError("resource_allocation_failed", `no control group for the limits: ${messageOf(error)}`, {
      cause: error,
    });
  }
  const counter = join(directories[0] ?? "", places.version === 1 ? "memory.oom_control" : "memory.events");
  return {
    directories,
    prelude: joinText(places, directories),
    firstPrelude: joinText(
      places,
      directories.filter((directory) => places.version === 2 || dirname(directory) !== places.cpu),
    ),
    async whileUnthrottled(work) {
      unthrottle(directories);
      try {
        return await work();
      } finally {
        for (const [file, value] of planGroupSettings(places, name, limits)) {
          if (/cpu\.(cfs_quota_us|max)$/.test(file) && existsSync(file)) writeFileSync(file, value);
        }
      }
    },
    countMemoryKills() {
      try {
        return Number(/^oom_kill (\d+)$/m.exec(readFileSync(counter, "utf8"))?.[1] ?? 0);
      } catch {
        return 0;
      }
    },
  };
}

// A thread that moves itself needs no lock on all processes of the machine; waiting for that lock takes longer than
// anything else at the start of a command. With one hierarchy for all only whole processes can move.
function joinText({ version }: GroupPlaces, directories: readonly string[]): string {
  const file = version === 1 ? "tasks" : "cgroup.procs";
  return directories.map((directory) => `echo 0 >'${directory}/${file}' || exit 125; `).join("");
}

/** Lifts the limit on processors: thousands of processes that are throttled do not even get to die. */
export function unthrottle(directories: readonly string[]): void {
  for (const directory of directories) {
    for (const [name, value] of [
      ["cpu.cfs_quota_us", "-1"],
      ["cpu.max", "max"],
    ] as const) {
      const file = join(directory, name);
      if (existsSync(file)) writeFileSync(file, value);
    }
  }
}

/** Removes groups whose processes have been killed; those may take a moment to be gone. */
export async function removeControlGroups(directories: readonly string[], clock: Clock): Promise<void> {
  const never = new AbortController().signal;
  for (const endMs = clock.monotonic() + removalMs; ;) {
    const left = directories.filter((directory) => !tryRemove(directory));
    if (left.length === 0) return;
    if (clock.monotonic() > endMs) {
      throw new RolloutError("teardown_failed", `the control groups ${left.join(", ")} cannot be removed`);
    }
    await clock.sleep(20, never);
  }
}

function tryRemove(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    return systemCodeOf(error) === "ENOENT";
  }
}
