import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { isHolderAlive, lostError } from "../hold.ts";
import type { ResultBatch, ResultStatus, ResultWithScores, RunEnd, RunHold, RunPlan, RunRecord } from "../run-store.ts";
import type { Page, PageWish } from "../store.ts";
import { groupUnits, putOver } from "../stored-unit.ts";
import { decodeResult, decodeUnit, encodeUnit } from "../unit-body.ts";

/** Kept as JSON, so that nobody changes it from outside and it comes back as from any other store. */
interface Unit {
  /** Null without a result. */
  readonly status: ResultStatus | null;
  readonly text: string;
}

type State = Omit<RunEnd, "status"> & Pick<RunRecord, "status" | "endedAt">;

/** One run in memory. */
export class MemoryRun {
  readonly no: number;
  readonly #plan: string;
  readonly #id: string;
  readonly #clock: Clock;
  readonly #createdAt: number;
  // Holes are units without a result.
  readonly #units: (Unit | undefined)[] = [];
  #state: State;
  #holder: ProcessOwner | null = null;
  #beatAt = 0;
  #token: symbol | null = null;

  constructor(plan: RunPlan, no: number, clock: Clock) {
    this.no = no;
    this.#plan = JSON.stringify(plan);
    this.#id = plan.id;
    this.#clock = clock;
    this.#createdAt = clock.now();
    const counts = { succeeded: 0, failed: 0, error: null, summary: null };
    this.#state = { status: "running", isFinished: false, endedAt: null, ...counts };
  }

  record(host: Host): RunRecord {
    const isHeld = this.#holder !== null && isHolderAlive(this.#holder, host, this.#clock.now() - this.#beatAt);
    const plan = JSON.parse(this.#plan) as RunPlan;
    return { ...plan, ...this.#state, isHeld, holder: this.#holder, createdAt: this.#createdAt };
  }

  /** Makes somebody its holder; who held it before loses it. */
  hold(owner: ProcessOwner, host: Host): RunHold {
    const token = Symbol(this.#id);
    this.#token = token;
    this.#holder = owner;
    this.#beatAt = this.#clock.now();
    this.#state = { ...this.#state, status: "running", endedAt: null };
    const fenced = async (work: () => void): Promise<void> => {
      if (this.#token !== token) throw lostError(this.#id);
      this.#beatAt = this.#clock.now();
      work();
    };
    return {
      run: this.record(host),
      beat: () => fenced(() => {}),
      write: (batch) => fenced(() => this.#write(batch)),
      forget: (indexes) => fenced(() => indexes.forEach((index) => (this.#units[index] = undefined))),
      end: (end) => fenced(() => this.#end(end)),
    };
  }

  /** Makes it nobody's. */
  release(): void {
    this.#token = null;
    this.#holder = null;
  }

  results({ after, limit }: PageWish): Page<ResultWithScores> {
    return this.#page(after, limit, ({ text }, index, status) => decodeResult(index, status, text));
  }

  outcomes({ after, limit }: PageWish): Page<{ index: number; status: ResultStatus }> {
    return this.#page(after, limit, (_, index, status) => ({ index, status }));
  }

  #write(batch: ResultBatch): void {
    const encoded = groupUnits(batch).map((unit) => {
      const known = this.#units[unit.index];
      const whole = known ? putOver(decodeUnit(unit.index, known.status, known.text), unit) : unit;
      return { index: unit.index, status: whole.result?.status ?? null, text: encodeUnit(whole) };
    });
    // All or nothing: what JSON cannot hold has thrown by now.
    for (const { index, status, text } of encoded) {
      while (this.#units.length < index) this.#units.push(undefined);
      this.#units[index] = { status, text };
    }
  }

  #end({ status, isFinished, succeeded, failed, error, summary }: RunEnd): void {
    const word = JSON.parse(JSON.stringify({ succeeded, failed, error, summary })) as Omit<RunEnd, "status">;
    this.#state = { ...word, status, isFinished, endedAt: this.#clock.now() };
    this.release();
  }

  #page<T>(after: number | null, limit: number, pick: (unit: Unit, index: number, status: ResultStatus) => T): Page<T> {
    const entries: T[] = [];
    for (let index = (after ?? -1) + 1; index < this.#units.length; index++) {
      const unit = this.#units[index];
      if (unit === undefined || unit.status === null) continue;
      entries.push(pick(unit, index, unit.status));
      if (entries.length === limit) return { entries, next: index };
    }
    return { entries, next: null };
  }
}
