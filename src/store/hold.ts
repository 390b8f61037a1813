import type { Host } from "../base/host.ts";
import { isOwnerAlive, type ProcessOwner } from "../base/process-owner.ts";
import { RolloutError } from "../base/rollout-error.ts";
import { holdLapsesMs } from "./run-store.ts";

/** Whether the holder of a run still lives: one of this machine is asked, another must have given a sign not long ago. */
export function isHolderAlive(holder: ProcessOwner, host: Host, silentMs: number): boolean {
  return holder.hostname === host.hostname ? isOwnerAlive(holder, host, silentMs) : silentMs < holdLapsesMs;
}

/** Says who holds a run that somebody else wants. */
export function heldError(runId: string, { pid, hostname }: ProcessOwner): RolloutError {
  return new RolloutError("in_use", `run ${runId} is in use by process ${pid} on ${hostname}`, {
    hint: "wait until it has ended, or end that process; what it wrote is kept",
  });
}

/** Says to a former holder that the run is no longer its own. */
export function lostError(runId: string): RolloutError {
  return new RolloutError("in_use", `run ${runId} is no longer held by this process`, {
    hint: "it was ended, removed, or taken up by another process after this one gave no sign for too long",
  });
}

/** Says that a run has nothing left to do. */
export function finishedError(runId: string): RolloutError {
  return new RolloutError("already_exists", `run ${runId} is finished already`, {
    hint: "choose another run id, or none to have one made",
  });
}
