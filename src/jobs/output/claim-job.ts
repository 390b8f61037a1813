import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import { isOwnerAlive, parseOwner } from "../../base/process-owner.ts";
import { readHolder, tryProcessLock } from "../../base/process-lock.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { JobPaths } from "./job-paths.ts";

export interface ClaimJobOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const pauseMs = 20;
const mostLooks = 50;

/** Makes a job directory this process's own until it is disposed; rejects with `in_use` when another lives in it. */
export async function claimJob(paths: JobPaths, options: ClaimJobOptions): Promise<AsyncDisposable> {
  const { host, clock, signal } = options;
  for (let look = 1; ; look++) {
    const lock = await tryProcessLock(paths.claim, { ...options, trustsForeign: true });
    if (lock) {
      await clearDead(paths, host);
      return lock;
    }
    const holder = await readHolder(paths.claim);
    const isAlive = holder !== null && isOwnerAlive(holder.owner, host, 0);
    // A lock that changes hands is free or held by somebody alive a moment later.
    if (isAlive || look > mostLooks) {
      const { pid, hostname } = holder?.owner ?? { pid: "?", hostname: "?" };
      throw new RolloutError("in_use", `${paths.dir} is in use by process ${pid} on ${hostname}`, {
        hint:
          hostname === host.hostname
            ? "wait for it to end, or stop it first"
            : `wait for it to end; if that process is gone for good, remove ${paths.claim}`,
      });
    }
    await clock.sleep(pauseMs, signal);
  }
}

// What a process left that died in the very moment of taking the lock.
async function clearDead({ own }: JobPaths, host: Host): Promise<void> {
  for (const name of (await readdir(own)).filter((entry) => /^lock[-.][0-9a-f]{8}/.test(entry))) {
    const owner = parseOwner(await readFile(join(own, name, "owner.json"), "utf8").catch(() => ""));
    if (owner && !isOwnerAlive(owner, host, 0)) await rm(join(own, name), { recursive: true, force: true });
  }
}
