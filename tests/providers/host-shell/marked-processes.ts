import { readdirSync, readFileSync } from "node:fs";
import type { ProcessInfo } from "../../../src/environments/environment.ts";

/** The variable that every process of an environment carries, daemons included. */
export const markName = "ROLLOUT_HOST_SHELL";

/** Every living process whose mark starts with the given one. */
export function findMarked(mark: string): ProcessInfo[] {
  const wanted = `${markName}=${mark}`;
  const found: ProcessInfo[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const variables = readFileSync(`/proc/${name}/environ`, "utf8").split("\0");
      if (!variables.some((variable) => variable.startsWith(wanted))) continue;
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").join(" ").trim();
      found.push({ pid: Number(name), command });
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

/** Sends a signal once to every process whose mark starts with the given one and that `matters`; tells how many there were. */
export function signalMarkedOnce(mark: string, kind: NodeJS.Signals, matters: (pid: number) => boolean): number {
  const found = findMarked(mark).filter(({ pid }) => matters(pid));
  for (const { pid } of found) {
    try {
      process.kill(pid, kind);
    } catch {
      // It ended by itself.
    }
  }
  return found.length;
}

/** Sends a signal again and again until none of the processes that `matters` is left. */
export async function signalMarked(
  mark: string,
  kind: NodeJS.Signals,
  matters: (pid: number) => boolean,
): Promise<void> {
  let quietRounds = 0;
  for (let round = 0; round < 1000; round++) {
    // A process shows no variables for the moment in which it becomes another program: one empty look is not enough.
    quietRounds = signalMarkedOnce(mark, kind, matters) === 0 ? quietRounds + 1 : 0;
    if (quietRounds === 2) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`processes of ${mark} do not heed ${kind}`);
}

/** Whether a process is held still. */
export function isStopped(pid: number): boolean {
  try {
    return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return true;
  }
}
