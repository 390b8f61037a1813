import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { isHolderAlive, lostError } from "../hold.ts";
import type {
  ResultBatch,
  ResultStatus,
  ResultWithScores,
  RunEnd,
  RunHold,
  RunPlan,
  RunRecord,
  StoredResult,
  StoredScore,
} from "../run-store.ts";
import type { Page, PageWish } from "../store.ts";

/** Kept as JSON, so that nobody changes it from outside and it comes back as from any other store. */
interface Unit {
  status: ResultStatus;
  result: string | null;
  readonly scores: Map<string, string>;
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
    return this.#page(after, limit, ({ result, scores }) => ({
      result: JSON.parse(result ?? "") as StoredResult,
      scores: [...scores.values()].map((text) => JSON.parse(text) as StoredScore),
    }));
  }

  outcomes({ after, limit }: PageWish): Page<{ index: number; status: ResultStatus }> {
    return this.#page(after, limit, ({ status }, index) => ({ index, status }));
  }

  #write({ results, scores }: ResultBatch): void {
    const texts = [results, scores].map((entries) => entries.map((entry) => JSON.stringify(entry)));
    results.forEach(({ index, status }, at) => {
      const unit = this.#unit(index);
      unit.status = status;
      unit.result = texts[0]?.[at] ?? null;
    });
    scores.forEach(({ index, scorerId }, at) => this.#unit(index).scores.set(scorerId, texts[1]?.[at] ?? ""));
  }

  #unit(index: number): Unit {
    while (this.#units.length < index) this.#units.push(undefined);
    return (this.#units[index] ??= { status: "interrupted", result: null, scores: new Map() });
  }

  #end({ status, isFinished, succeeded, failed, error, summary }: RunEnd): void {
    const word = JSON.parse(JSON.stringify({ succeeded, failed, error, summary })) as Omit<RunEnd, "status">;
    this.#state = { ...word, status, isFinished, endedAt: this.#clock.now() };
    this.release();
  }

  #page<T>(after: number | null, limit: number, pick: (unit: Unit, index: number) => T): Page<T> {
    const entries: T[] = [];
    for (let index = (after ?? -1) + 1; index < this.#units.length; index++) {
      const unit = this.#units[index];
      if (unit?.result == null) continue;
      entries.push(pick(unit, index));
      if (entries.length === limit) return { entries, next: index };
    }
    return { entries, next: null };
  }
}
