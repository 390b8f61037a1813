import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import type { RunChanges } from "../follow-run.ts";
import { applyLease, isLeaseAlive, lostLeaseError } from "../lease.ts";
import type { Run, Unit, UnitRow } from "../run.ts";
import type { RunLease } from "../run-store.ts";
import { toUnitRow } from "../unit-row.ts";

/** A unit as JSON, so that callers cannot change it. */
interface StoredUnit {
  readonly seq: number;
  readonly json: string;
  /** Made when it is first read. */
  row?: UnitRow;
}

interface Lease {
  readonly token: symbol;
  readonly owner: ProcessOwner;
  renewedAt: number;
}

const maxChanges = 500;

/** One run in memory. */
export class MemoryRun {
  readonly #id: string;
  readonly #host: Host;
  readonly #clock: Clock;
  // By index, in the order in which they were last written.
  readonly #units = new Map<number, StoredUnit>();
  // Made when they are read, until the next write.
  #rows: readonly UnitRow[] | null = null;
  #json: string;
  #lease: Lease | null = null;
  #lastSeq = 0;

  constructor(run: Run, host: Host, clock: Clock) {
    this.#id = run.id;
    this.#json = JSON.stringify(run);
    this.#host = host;
    this.#clock = clock;
  }

  get run(): Run {
    return applyLease(JSON.parse(this.#json) as Run, this.livingOwner);
  }

  /** The owner of the lease if it is alive, else null. */
  get livingOwner(): ProcessOwner | null {
    if (this.#lease === null) return null;
    const { owner, renewedAt } = this.#lease;
    return isLeaseAlive(owner, this.#host, this.#clock.now() - renewedAt) ? owner : null;
  }

  /** Sorted by index. */
  get rows(): readonly UnitRow[] {
    this.#rows ??= Array.from(this.#units.values(), (unit) => (unit.row ??= toUnitRow(parse(unit)))).sort(
      (one, other) => one.index - other.index,
    );
    return this.#rows;
  }

  /** Gives the run to an owner. An earlier lease becomes invalid. */
  lease(owner: ProcessOwner): RunLease {
    const token = Symbol(this.#id);
    this.#lease = { token, owner, renewedAt: this.#clock.now() };
    const whileLeased = async (work: () => void): Promise<void> => {
      if (this.#lease?.token !== token) throw lostLeaseError(this.#id);
      work();
    };
    const store = (run: Run): void => void (this.#json = JSON.stringify(run));
    const renew = (run: Run | undefined): void => {
      if (this.#lease !== null) this.#lease.renewedAt = this.#clock.now();
      if (run !== undefined) store(run);
    };
    const end = (run: Run): void => {
      store(run);
      this.release();
    };
    return {
      run: this.run,
      renew: (run) => whileLeased(() => renew(run)),
      write: (units) => whileLeased(() => this.#write(units)),
      remove: (indexes) => whileLeased(() => this.#remove(indexes)),
      end: (run) => whileLeased(() => end(run)),
    };
  }

  /** Marks an ended run as running again, for a new lease. */
  reopen(): void {
    this.#json = JSON.stringify({ ...this.run, status: "running", endedAt: null });
  }

  /** Makes every lease invalid. */
  release(): void {
    this.#lease = null;
  }

  unitAt(index: number): Unit | null {
    const unit = this.#units.get(index);
    return unit === undefined ? null : parse(unit);
  }

  unitOf(key: string): Unit | null {
    const row = this.rows.find((each) => each.key === key);
    return row === undefined ? null : this.unitAt(row.index);
  }

  changes(afterSeq: number): RunChanges {
    // Most calls find nothing new.
    const stored = afterSeq < this.#lastSeq ? [...this.#units.values()] : [];
    const changed = stored.filter(({ seq }) => seq > afterSeq).slice(0, maxChanges);
    const units = changed.map((unit) => ({ seq: unit.seq, unit: parse(unit) }));
    return { run: this.run, units, hasMore: units.length === maxChanges, lastSeq: this.#lastSeq };
  }

  #remove(indexes: readonly number[]): void {
    this.#rows = null;
    for (const index of indexes) this.#units.delete(index);
  }

  #write(units: readonly Unit[]): void {
    // A value that has no JSON throws here, before anything is stored.
    const encoded = units.map((unit) => [unit.index, JSON.stringify(unit)] as const);
    this.#rows = null;
    for (const [index, json] of encoded) {
      this.#units.delete(index);
      this.#units.set(index, { seq: ++this.#lastSeq, json });
    }
  }
}

function parse({ json }: StoredUnit): Unit {
  return JSON.parse(json) as Unit;
}
