import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { followRun } from "../follow-run.ts";
import { completedError, inUseError } from "../lease.ts";
import { pageRows } from "../page-rows.ts";
import { pageRuns } from "../page-runs.ts";
import type { Artifact, Run, Unit, UnitRow } from "../run.ts";
import type { ArtifactContent, ByteRange, FollowedEvent, RunFilter, UnitQuery } from "../run-source.ts";
import type { RunLease, RunStore } from "../run-store.ts";
import type { Page, PageRequest } from "../store.ts";
import { checkName, takenError, unknownError } from "../store-error.ts";
import { artifactsOf, cutValues, valueContent } from "../unit-values.ts";
import { MemoryRun } from "./memory-run.ts";

/** Stores runs in the memory of this process. */
export class MemoryRunStore implements RunStore {
  readonly #host: Host;
  readonly #clock: Clock;
  readonly #runs = new Map<string, MemoryRun>();

  constructor(host: Host, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  async create(run: Run, owner: ProcessOwner): Promise<RunLease> {
    checkName("the id of a run", run.id);
    if (this.#runs.has(run.id)) throw takenError(`run ${run.id}`);
    const created = new MemoryRun(run, this.#host, this.#clock);
    this.#runs.set(run.id, created);
    return created.lease(owner);
  }

  async resume(
    runId: string,
    owner: ProcessOwner,
    { allowCompleted = false }: { readonly allowCompleted?: boolean } = {},
  ): Promise<RunLease> {
    const run = this.#find(runId);
    if (run.livingOwner !== null) throw inUseError(runId, run.livingOwner);
    if (!run.run.isResumable && !allowCompleted) throw completedError(runId);
    run.reopen();
    return run.lease(owner);
  }

  async remove(runId: string): Promise<void> {
    const run = this.#find(runId);
    if (run.livingOwner !== null) throw inUseError(runId, run.livingOwner);
    run.release();
    this.#runs.delete(runId);
  }

  async list(filter: RunFilter, page: PageRequest<string>): Promise<Page<Run, string>> {
    return pageRuns(
      this.#runs.values().map(({ run }) => run),
      filter,
      page,
    );
  }

  async get(runId: string): Promise<Run | null> {
    return this.#runs.get(runId)?.run ?? null;
  }

  async rows(runId: string, query: UnitQuery): Promise<Page<UnitRow, string>> {
    const { rows, run } = this.#find(runId);
    return pageRows(rows, query, run.shape.scoreName);
  }

  async units(runId: string, query: UnitQuery): Promise<Page<Unit, string>> {
    const { entries, next } = await this.rows(runId, query);
    const run = this.#find(runId);
    return { entries: entries.flatMap(({ index }) => run.unitAt(index) ?? []), next };
  }

  async unit(runId: string, key: string): Promise<Unit | null> {
    const unit = this.#find(runId).unitOf(key);
    return unit && cutValues(unit);
  }

  async artifacts(runId: string, key: string): Promise<readonly Artifact[]> {
    const unit = this.#find(runId).unitOf(key);
    return unit === null ? [] : artifactsOf(unit);
  }

  async artifact(runId: string, key: string, name: string, range?: ByteRange): Promise<ArtifactContent | null> {
    const unit = this.#find(runId).unitOf(key);
    return unit && valueContent(unit, name, range);
  }

  follow(runId: string, cursor: string | null, signal: AbortSignal): AsyncIterable<FollowedEvent> {
    const read = async (afterSeq: number) => this.#find(runId).changes(afterSeq);
    return followRun({ read, cursor, clock: this.#clock, signal });
  }

  #find(runId: string): MemoryRun {
    const run = this.#runs.get(runId);
    if (!run) throw unknownError("run", runId);
    return run;
  }
}
