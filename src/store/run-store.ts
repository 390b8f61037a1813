import type { ProcessOwner } from "../base/process-owner.ts";
import type { Run, Unit } from "./run.ts";
import type { RunSource } from "./run-source.ts";

/** A lease that was not renewed for this long can be taken over. On the same machine the process itself is checked. */
export const leaseTimeoutMs = 60_000;

/** The right to write to a run. Every call rejects with `in_use` after another process took the run over. */
export interface RunLease {
  /** The run as it was when the lease was taken. */
  readonly run: Run;
  /** Renews the lease, and replaces the stored run if one is given. */
  renew(run?: Run): Promise<void>;
  /** Stores units; a unit replaces the stored one with the same index. They survive the process when the promise resolves. */
  write(units: readonly Unit[]): Promise<void>;
  /** Removes stored units, so that they can run again. */
  remove(indexes: readonly number[]): Promise<void>;
  /** Stores the final state of the run and releases the lease. */
  end(run: Run): Promise<void>;
}

/** Stores runs and their units. Unknown ids reject with `not_found`. */
export interface RunStore extends RunSource {
  /** Rejects with `already_exists` for a known id. */
  create(run: Run, owner: ProcessOwner): Promise<RunLease>;
  /**
   * Takes over a run that no living process works on. Rejects with `in_use` if one does.
   * Rejects with `already_exists` for a run that is not resumable, unless `allowCompleted` is set.
   */
  resume(runId: string, owner: ProcessOwner, options?: { readonly allowCompleted?: boolean }): Promise<RunLease>;
  /** Rejects with `in_use` while a living process works on the run. */
  remove(runId: string): Promise<void>;
}
