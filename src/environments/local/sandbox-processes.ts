import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { ProcessInfo } from "../environment.ts";
import { namespaceWords } from "./command-words.ts";
import type { IdMap } from "./id-map.ts";
import type { ProgramStarter } from "./program-starter.ts";

const pollMs = 15;
const graceMs = 2000;
const patienceMs = 10_000;
const bombCount = 500;

/** A process of a sandbox as the host sees it. */
export interface SandboxProcess {
  readonly hostPid: number;
  readonly hostParent: number;
  readonly isStopped: boolean;
}

/** How the processes of one sandbox are reached. */
export interface ProcessReach {
  readonly sandboxPid: number;
  readonly idMap: IdMap;
  readonly path: string;
  readonly clock: Clock;
  readonly starter: ProgramStarter;
  /** Does work while nothing slows the processes down. */
  readonly unthrottled: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Every living process in the sandbox beside its first one. */
export function findProcesses(sandboxPid: number): SandboxProcess[] {
  if (isAlone(sandboxPid)) return [];
  const namespace = readNamespace(sandboxPid);
  if (namespace === null) return [];
  const found: SandboxProcess[] = [];
  for (const name of readdirSync("/proc")) {
    const hostPid = Number(name);
    if (!(hostPid > 0) || hostPid === sandboxPid || readNamespace(hostPid) !== namespace) continue;
    const process = describe(hostPid);
    if (process !== null) found.push(process);
  }
  return found;
}

// Its own view of the processes is a short list, and no program in it can put another one in its place.
function isAlone(sandboxPid: number): boolean {
  try {
    return readdirSync(`/proc/${sandboxPid}/root/proc`).every((name) => name === "1" || !(Number(name) > 0));
  } catch {
    return false;
  }
}

function readNamespace(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null;
  }
}

// Nothing here waits for the memory of a process, which may be held for long when there are thousands of them.
function describe(hostPid: number): SandboxProcess | null {
  try {
    const stat = readFileSync(`/proc/${hostPid}/stat`, "utf8");
    // The name of a process may hold blanks and brackets; what follows the last one is regular.
    const [state = "", parent = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 2);
    if (state === "Z" || state === "X") return null;
    return { hostPid, hostParent: Number(parent), isStopped: state === "T" || state === "t" };
  } catch {
    // It ended while we looked.
    return null;
  }
}

/** Every living process in the sandbox beside its first one, as people know it: by its id inside and its words. */
export function describeProcesses(sandboxPid: number): ProcessInfo[] {
  return findProcesses(sandboxPid).flatMap(({ hostPid }) => {
    try {
      const status = readFileSync(`/proc/${hostPid}/status`, "utf8");
      const words = readFileSync(`/proc/${hostPid}/cmdline`, "utf8").split("\0").join(" ").trim();
      const pid = Number(/^NSpid:.*\s(\d+)$/m.exec(status)?.[1]);
      return [{ pid, command: words || (/^Name:\s+(.*)$/m.exec(status)?.[1] ?? "") }];
    } catch {
      return [];
    }
  });
}

/** Ends everything in the sandbox beside its first process: TERM, then KILL. */
export async function endProcesses(reach: ProcessReach): Promise<void> {
  const isQuiet = (): boolean => findProcesses(reach.sandboxPid).length === 0;
  const count = findProcesses(reach.sandboxPid).length;
  if (count === 0) return;
  // A bomb goes on forking while it is asked to end.
  if (count < bombCount) {
    await signalAll(reach, "TERM");
    if (await waitUntil(reach.clock, isQuiet, graceMs)) return;
  }
  // Once is enough for what lives now: the kernel signals all of them, also those that are being forked.
  await signalAll(reach, "KILL");
  const hasEnded = await reach.unthrottled(() => waitUntil(reach.clock, isQuiet, patienceMs));
  if (!hasEnded) {
    throw new RolloutError("exec_failed", "some processes of the environment do not end although they were killed");
  }
}

/** Ends every process of the sandbox that does not descend from one of the given processes of the host. */
export async function endProcessesBeside(reach: ProcessReach, spared: ReadonlySet<number>): Promise<void> {
  const victims = (): SandboxProcess[] => {
    const all = findProcesses(reach.sandboxPid);
    const kept = new Set(spared);
    for (let before = -1; before !== kept.size;) {
      before = kept.size;
      for (const process of all) if (kept.has(process.hostParent)) kept.add(process.hostPid);
    }
    return all.filter((process) => !kept.has(process.hostPid));
  };
  const send = (name: NodeJS.Signals): void => victims().forEach(({ hostPid }) => signalOne(hostPid, name));
  const isQuiet = (): boolean => victims().length === 0;
  send("SIGTERM");
  if (await waitUntil(reach.clock, isQuiet, graceMs)) return;
  // What they fork meanwhile is found in the next round.
  const hasEnded = await waitUntil(reach.clock, () => (send("SIGKILL"), isQuiet()), patienceMs);
  if (!hasEnded)
    throw new RolloutError("exec_failed", "some processes of a command do not end although they were killed");
}

/** Holds everything in the sandbox still beside its first process. */
export async function stopProcesses(reach: ProcessReach): Promise<void> {
  const isStill = (): boolean => findProcesses(reach.sandboxPid).every((process) => process.isStopped);
  if (isStill()) return;
  await signalAll(reach, "STOP");
  if (!(await waitUntil(reach.clock, isStill, patienceMs))) {
    throw new RolloutError("exec_failed", "some processes of the environment cannot be held still");
  }
}

async function signalAll(reach: ProcessReach, name: "TERM" | "KILL" | "STOP"): Promise<void> {
  const { sandboxPid, idMap, path, starter } = reach;
  // The tools of the host, in the process namespace of the sandbox: nothing in there can have replaced them.
  const args = [...namespaceWords(sandboxPid, idMap, ["-U", "-p"]), "bash", "--norc", "-p", "-c", `kill -${name} -1`];
  const { ended } = await starter.start({ file: "nsenter", args, env: { PATH: path }, cwd: "/", descriptors: [] });
  await ended;
}

function signalOne(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself.
  }
}

async function waitUntil(clock: Clock, holds: () => boolean, limitMs: number): Promise<boolean> {
  const never = new AbortController().signal;
  for (const endMs = clock.monotonic() + limitMs; ;) {
    const startMs = clock.monotonic();
    if (holds()) return true;
    const nowMs = clock.monotonic();
    if (nowMs > endMs) return false;
    // Looking at thousands of processes takes a while, and they need the processors more than we do.
    await clock.sleep(Math.max(pollMs, 3 * (nowMs - startMs)), never);
  }
}
