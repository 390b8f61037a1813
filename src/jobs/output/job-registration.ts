import type { Clock } from "../../base/clock.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import { startHeartbeat } from "../../store/heartbeat.ts";
import type { Artifact, Run, Unit, UnitRow } from "../../store/run.ts";
import type { RunLease, RunStore } from "../../store/run-store.ts";
import type { UnitQuery } from "../../store/run-source.ts";
import type { Page } from "../../store/store.ts";
import { UnitWriter } from "../../store/unit-writer.ts";
import { mapBounded } from "../tasks/map-bounded.ts";

export interface JobRegistrationOptions {
  readonly store: RunStore;
  readonly owner: ProcessOwner;
  readonly clock: Clock;
  /** The keys of all planned trials, by index. */
  readonly keys: readonly string[];
  /** The run and its units must not contain secrets. */
  readonly currentRun: () => Run;
  /** Lists the files of a trial. */
  readonly listArtifacts: (key: string) => Promise<readonly Artifact[]>;
  /** Called once, when the store fails. */
  readonly onFailure: (message: string) => void;
}

const maxCallMs = 30_000;
const pageSize = 500;
const restoredAtOnce = 16;

/**
 * Records a job and its trials in a store, beside the job directory. The job never waits for the store until it ends.
 * A store that fails is reported once and then left alone.
 */
export class JobRegistration implements AsyncDisposable {
  readonly #options: JobRegistrationOptions;
  readonly #writes = new Set<Promise<void>>();
  readonly #failure = Promise.withResolvers<void>();
  /** Units that earlier sessions stored, by index. */
  readonly #stored = new Map<number, UnitRow>();
  #started: Promise<void> = Promise.resolve();
  #lease: RunLease | null = null;
  #writer: UnitWriter | null = null;
  #heartbeat: { stop(): void } | null = null;
  #hasFailed = false;

  constructor(options: JobRegistrationOptions) {
    this.#options = options;
  }

  /** Registers the job, or takes over the entry of an earlier session. Nothing waits for it. */
  start(): void {
    this.#started = this.#attempt(async () => {
      const lease = await this.#openLease();
      if (this.#hasFailed) return;
      this.#lease = lease;
      // After a failure nothing more is sent, so that units in the queue do not wait for a store that does not answer.
      const write: RunLease["write"] = async (units) => {
        if (!this.#hasFailed) await lease.write(units);
      };
      this.#writer = new UnitWriter({ write }, this.#options.clock, Number.POSITIVE_INFINITY);
      this.#heartbeat = startHeartbeat(lease, this.#options.clock, {
        currentRun: this.#options.currentRun,
        onLost: (error) => this.#fail(error),
      });
    });
  }

  /** Stores a trial; nothing waits for it. */
  add(unit: Unit): void {
    this.#run(() => this.#write(unit));
  }

  /** Stores trials of earlier sessions that the store does not have. */
  restore(units: readonly Unit[]): void {
    this.#run(async () => {
      const missing = units.filter((unit) => !isSame(this.#stored.get(unit.index), unit));
      await mapBounded(missing, restoredAtOnce, async (unit) => {
        if (this.#hasFailed) return;
        await this.#write({ ...unit, artifacts: await this.#options.listArtifacts(unit.key) });
      });
    });
  }

  /** Waits until every trial is stored, then stores the final state of the job. */
  async end(run: Run): Promise<void> {
    await this.#settle();
    this.#heartbeat?.stop();
    const lease = this.#lease;
    this.#lease = null;
    if (lease !== null && !this.#hasFailed)
      await this.#attempt(() => this.#call("storing the end of the job", () => lease.end(run)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#settle();
    this.#heartbeat?.stop();
    this.#writer?.[Symbol.dispose]();
  }

  async #openLease(): Promise<RunLease> {
    const { store, owner, currentRun } = this.#options;
    const run = currentRun();
    try {
      return await this.#call("registering the job", () => store.create(run, owner));
    } catch (error) {
      if (!(error instanceof RolloutError) || error.code !== "already_exists") throw error;
    }
    const lease = await this.#call("registering the job", () => store.resume(run.id, owner, { allowCompleted: true }));
    await this.#call("registering the job", () => lease.renew(currentRun()));
    await this.#readStored(lease, run.id);
    return lease;
  }

  /** Reads what earlier sessions stored, and removes trials that are no longer planned or have another index now. */
  async #readStored(lease: RunLease, runId: string): Promise<void> {
    const { store, keys } = this.#options;
    const foreign: number[] = [];
    for (let after: string | null = null; ;) {
      const query: UnitQuery = { page: { after, limit: pageSize } };
      const page: Page<UnitRow, string> = await this.#call("reading stored trials", () => store.rows(runId, query));
      for (const row of page.entries) {
        if (keys[row.index] === row.key) this.#stored.set(row.index, row);
        else foreign.push(row.index);
      }
      if (page.next === null) break;
      after = page.next;
    }
    if (foreign.length > 0) await this.#call("removing stored trials", () => lease.remove(foreign));
  }

  async #write(unit: Unit): Promise<void> {
    const problem = await this.#writer?.add(unit);
    if (problem != null) throw new Error(problem);
  }

  #run(work: () => Promise<void>): void {
    const running = this.#started
      .then(() => (this.#hasFailed ? undefined : this.#attempt(work)))
      .finally(() => this.#writes.delete(running));
    this.#writes.add(running);
  }

  /** Resolves when nothing is left to store, or when the store has failed. */
  async #settle(): Promise<void> {
    const all = this.#started.then(() => Promise.all(this.#writes));
    await Promise.race([all, this.#failure.promise]);
  }

  #call<T>(what: string, work: () => Promise<T>): Promise<T> {
    return withDeadline({ clock: this.#options.clock, limitMs: maxCallMs, parent: null, what, graceMs: 0 }, work);
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#heartbeat?.stop();
    this.#failure.resolve();
    this.#options.onFailure(
      `the job could not be recorded in the store: ${messageOf(error)}; its directory is complete`,
    );
  }
}

function isSame(row: UnitRow | undefined, unit: Unit): boolean {
  return (
    row !== undefined && row.startedAt === unit.startedAt && row.tries === unit.tries && row.status === unit.status
  );
}
