import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { finishedError, heldError } from "../hold.ts";
import type { RunFilter, RunHold, RunPlan, RunRecord, RunStore } from "../run-store.ts";
import type { Page, PageWish } from "../store.ts";
import { checkLimit, checkName, takenError, unknownError } from "../store-error.ts";
import { MemoryRun } from "./memory-run.ts";

/** Runs in the memory of this process. */
export class MemoryRunStore implements RunStore {
  readonly #host: Host;
  readonly #clock: Clock;
  // In the order in which they began.
  readonly #runs = new Map<string, MemoryRun>();
  #count = 0;

  constructor(host: Host, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  async begin(plan: RunPlan, owner: ProcessOwner): Promise<RunHold> {
    checkName("the id of a run", plan.id);
    if (this.#runs.has(plan.id)) throw takenError(`run ${plan.id}`);
    const run = new MemoryRun(plan, ++this.#count, this.#clock);
    this.#runs.set(plan.id, run);
    return run.hold(owner, this.#host);
  }

  async take(runId: string, owner: ProcessOwner, which = "unfinished"): Promise<RunHold> {
    const run = this.#get(runId);
    const { isFinished, isHeld, holder } = run.record(this.#host);
    if (isFinished && which !== "any") throw finishedError(runId);
    if (isHeld && holder) throw heldError(runId, holder);
    return run.hold(owner, this.#host);
  }

  async find(runId: string): Promise<RunRecord | null> {
    return this.#runs.get(runId)?.record(this.#host) ?? null;
  }

  async list({ kind, datasetId }: RunFilter, { after, limit }: PageWish<string>): Promise<Page<RunRecord, string>> {
    checkLimit(limit);
    const wanted = [...this.#runs.values()]
      .reverse()
      .filter(({ no }) => after === null || no < Number(after))
      .map((run) => ({ no: run.no, record: run.record(this.#host) }))
      .filter(({ record }) => kind === undefined || record.kind === kind)
      .filter(({ record }) => datasetId === undefined || record.datasetId === datasetId)
      .slice(0, limit);
    const next = wanted.length < limit ? null : String(wanted.at(-1)?.no);
    return { entries: wanted.map(({ record }) => record), next };
  }

  async remove(runId: string): Promise<void> {
    const run = this.#get(runId);
    const { isHeld, holder } = run.record(this.#host);
    if (isHeld && holder) throw heldError(runId, holder);
    run.release();
    this.#runs.delete(runId);
  }

  async results(runId: string, wish: PageWish) {
    checkLimit(wish.limit);
    return this.#get(runId).results(wish);
  }

  async outcomes(runId: string, wish: PageWish) {
    checkLimit(wish.limit);
    return this.#get(runId).outcomes(wish);
  }

  #get(runId: string): MemoryRun {
    const run = this.#runs.get(runId);
    if (!run) throw unknownError("run", runId);
    return run;
  }
}
