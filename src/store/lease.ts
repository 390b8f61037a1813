import type { Host } from "../base/host.ts";
import { isOwnerAlive, type ProcessOwner } from "../base/process-owner.ts";
import { RolloutError } from "../base/rollout-error.ts";
import type { Run } from "./run.ts";
import { leaseTimeoutMs } from "./run-store.ts";

/** Returns whether the owner of a lease is alive. On another machine, only a lease that was renewed lately counts. */
export function isLeaseAlive(owner: ProcessOwner, host: Host, ageMs: number): boolean {
  return owner.hostname === host.hostname ? isOwnerAlive(owner, host, ageMs) : ageMs < leaseTimeoutMs;
}

/** Returns a stored run as readers see it. `owner` is the living owner of its lease; null if there is none. */
export function applyLease(run: Run, owner: ProcessOwner | null): Run {
  if (owner !== null) return { ...run, owner: { pid: owner.pid, hostname: owner.hostname } };
  if (hasEnded(run)) return { ...run, owner: null };
  return { ...run, owner: null, status: "interrupted", isResumable: true };
}

/** Returns whether the work on a run is over. */
export function hasEnded({ status }: Pick<Run, "status">): boolean {
  return status !== "running" && status !== "paused";
}

/** The run has a living owner. */
export function inUseError(runId: string, { pid, hostname }: ProcessOwner): RolloutError {
  return new RolloutError("in_use", `run ${runId} is in use by process ${pid} on ${hostname}`, {
    hint: "wait until that process has ended, or stop it; the units it stored are kept",
  });
}

/** The caller's lease is no longer valid. */
export function lostLeaseError(runId: string): RolloutError {
  return new RolloutError("in_use", `run ${runId} is no longer leased by this process`, {
    hint: "the run has ended, was removed, or another process took it over because the lease was not renewed in time",
  });
}

/** The run has nothing left to do. */
export function completedError(runId: string): RolloutError {
  return new RolloutError("already_exists", `run ${runId} is already complete`, {
    hint: "start a new run with another id, or without one",
  });
}
