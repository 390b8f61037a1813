import type { Clock } from "../../../base/clock.ts";
import { RolloutError } from "../../../base/rollout-error.ts";
import type { Run, Unit } from "../../../store/run.ts";
import type { RunLease } from "../../../store/run-store.ts";
import { UnitWriter } from "../../../store/unit-writer.ts";
import type { ExperimentSummary } from "../../run/experiment-tally.ts";
import { toUnit, type ExperimentNames } from "../../run/to-unit.ts";
import type { AnsweredRun, EvaluatedRun, ExperimentOutput } from "../experiment-output.ts";
import { fromUnit } from "./stored-example.ts";

export interface StoreOutputOptions {
  readonly lease: RunLease;
  /** The run as it was before the lease was taken. */
  readonly run: Run;
  readonly names: ExperimentNames;
  readonly clock: Clock;
  /** Finds what an earlier session stored at an index. Null if nothing is resumed. */
  readonly findUnit: ((index: number) => Promise<Unit | null>) | null;
  /** Leaves the stored run as it is unless everything completes. */
  readonly keepsRun: boolean;
}

/** Stores an experiment in a store. Results that arrive together are committed together. */
export class StoreOutput implements ExperimentOutput {
  readonly run: Run;
  readonly findStored: ExperimentOutput["findStored"];
  readonly #lease: RunLease;
  readonly #writer: UnitWriter;
  readonly #names: ExperimentNames;
  readonly #keepsRun: boolean;
  /** The run to store when the lease is released; null once that is done. */
  #last: Run | null;

  constructor({ lease, run, names, clock, findUnit, keepsRun }: StoreOutputOptions) {
    this.run = run;
    this.#lease = lease;
    this.#keepsRun = keepsRun;
    this.#names = names;
    this.#last = withoutOwner(run);
    this.#writer = new UnitWriter(lease, clock, Number.POSITIVE_INFINITY);
    this.findStored =
      findUnit &&
      (async ({ index }) => {
        const unit = await findUnit(index);
        return unit && fromUnit(unit);
      });
  }

  // A unit has its evaluations, so writing it replaces those of an earlier output.
  saveTask(answered: AnsweredRun): Promise<void> {
    return this.#write({ ...answered, evaluations: [] });
  }

  saveEvaluation(evaluated: EvaluatedRun): Promise<void> {
    return this.#write(evaluated);
  }

  // A process that lost its lease learns so from its next write.
  async update(run: Run): Promise<void> {
    if (!this.#keepsRun) this.#last = withoutOwner(run);
    await this.#lease.renew(this.#keepsRun ? undefined : run).catch(() => {});
  }

  async end(run: Run, summary: ExperimentSummary): Promise<void> {
    if (this.#keepsRun && summary.status !== "completed") return;
    this.#last = run;
    await this.#lease.end(run);
    this.#last = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#writer[Symbol.dispose]();
    // The next process need not wait for this one. A store that failed at the end may work again.
    if (this.#last !== null) await this.#lease.end(this.#last).catch(() => {});
  }

  async #write(evaluated: EvaluatedRun): Promise<void> {
    const problem = await this.#writer.add(toUnit(evaluated, this.#names));
    if (problem !== null) throw new RolloutError("io_failed", `a result could not be stored: ${problem}`);
  }
}

function withoutOwner(run: Run): Run {
  return { ...run, status: run.status === "running" ? "interrupted" : run.status, owner: null };
}
