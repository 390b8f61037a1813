import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { stateDir } from "./cluster-places.ts";

const pids = join(stateDir, "pid");
const logs = join(stateDir, "log");
const stopLimitMs = 5000;

/** The process of a part; null when it does not run. Its arguments name our folder, so that it is no other's. */
export function pidOf(name: string): number | null {
  try {
    const pid = Number(readFileSync(join(pids, name), "utf8"));
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(stateDir) ? pid : null;
  } catch {
    return null;
  }
}

/** Starts a part of a cluster that outlives us, unless it runs. */
export function startPart(
  name: string,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): void {
  if (pidOf(name) !== null) return;
  for (const directory of [pids, logs]) mkdirSync(directory, { recursive: true });
  const log = openSync(join(logs, name), "a");
  const options = { cwd: stateDir, detached: true, env: { ...process.env, ...env } };
  const child = spawn(program, args, { ...options, argv0: basename(program), stdio: ["ignore", log, log] });
  closeSync(log);
  child.on("error", () => {});
  child.unref();
  writeFileSync(join(pids, name), String(child.pid ?? 0));
}

/** Ends a part: TERM, then KILL. */
export async function stopPart(name: string, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  const pid = pidOf(name);
  if (pid !== null) process.kill(pid, signal);
  for (let waitedMs = 0; waitedMs < stopLimitMs && pidOf(name) !== null; waitedMs += 50) await setTimeout(50);
  const left = pidOf(name);
  if (left !== null) process.kill(left, "SIGKILL");
  rmSync(join(pids, name), { force: true });
}

/** Waits until something is true; fails at once when a part has ended, with what it last said. */
export async function waitFor(what: string, limitMs: number, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + limitMs; ;) {
    if (await isTrue()) return;
    for (const name of parts) {
      if (!existsSync(join(pids, name)) || pidOf(name) !== null) continue;
      throw new Error(
        `${name} has ended: ${readFileSync(join(logs, name), "utf8").trim().split("\n").slice(-3).join("\n")}`,
      );
    }
    if (performance.now() > end) throw new Error(`waited ${limitMs / 1000} seconds for ${what}; logs are in ${logs}`);
    await setTimeout(100);
  }
}

/** The parts of a cluster, in the order in which they are stopped. */
export const parts = [
  "kubelet",
  "kube-scheduler",
  "kube-controller-manager",
  "kube-apiserver",
  "etcd",
  "registry",
  "private-registry",
  "containerd",
] as const;
