import type { Clock } from "../../../base/clock.ts";
import { RolloutError } from "../../../base/rollout-error.ts";
import { startHeart } from "../../../store/heart.ts";
import { ResultWriter, type UnitWrite } from "../../../store/result-writer.ts";
import type { ResultWithScores, RunHold } from "../../../store/run-store.ts";
import type { EvalOutcome } from "../../executor/executor.ts";
import type { PlannedRun } from "../../run/example.ts";
import type { ExperimentSummary } from "../../run/experiment-tally.ts";
import type { AnsweredRun, EarlierRun, ExperimentOutput } from "../experiment-output.ts";
import { toEarlierRun } from "../experiment-shelf.ts";
import { isWhole, summaryJson } from "../summary-json.ts";
import { fromStored, toStoredResult, toStoredScore } from "./stored-run.ts";

export interface StoreOutputOptions {
  readonly hold: RunHold;
  readonly location: string;
  readonly clock: Clock;
  /** What an earlier session left at a place; null when nothing is to be taken up. */
  readonly findKept: ((index: number) => Promise<ResultWithScores | null>) | null;
  /** Leaves the summary as it is unless all came to its end. */
  readonly keepsSummary: boolean;
}

/** An experiment that goes to a store; what comes together is committed together. */
export class StoreOutput implements ExperimentOutput {
  readonly location: string;
  readonly findEarlier: ExperimentOutput["findEarlier"];
  readonly #hold: RunHold;
  readonly #writer: ResultWriter;
  readonly #heart: { stop(): void };
  readonly #version: number;
  readonly #keepsSummary: boolean;
  #isEnded = false;

  constructor({ hold, location, clock, findKept, keepsSummary }: StoreOutputOptions) {
    this.location = location;
    this.#hold = hold;
    this.#keepsSummary = keepsSummary;
    this.#version = hold.run.datasetVersion ?? 0;
    this.#writer = new ResultWriter(hold, clock, Number.POSITIVE_INFINITY);
    // Who lost the run is told by the next thing it writes.
    this.#heart = startHeart(hold, clock, () => {});
    this.findEarlier = findKept === null ? null : ({ index }) => this.#takeUp(index, findKept);
  }

  saveRun(answered: AnsweredRun): Promise<void> {
    return this.#write({ result: toStoredResult(answered, this.#version), scores: [] });
  }

  saveEvaluation(run: PlannedRun, outcome: EvalOutcome): Promise<void> {
    return this.#write({ result: null, scores: [toStoredScore(run, outcome)] });
  }

  async end(summary: ExperimentSummary): Promise<void> {
    if (this.#keepsSummary && summary.status !== "completed") return;
    this.#isEnded = true;
    await this.#hold.end({
      status: summary.status === "completed" ? "completed" : "failed",
      isFinished: isWhole(summary),
      succeeded: summary.succeeded,
      failed: summary.failed,
      error: summary.error,
      summary: summaryJson(summary),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#heart.stop();
    this.#writer[Symbol.dispose]();
    if (this.#isEnded) return;
    // It stands where it stood, and whoever comes next need not wait for us.
    const { isFinished, succeeded, failed, error, summary } = this.#hold.run;
    const status = isFinished ? "completed" : "failed";
    await this.#hold.end({ status, isFinished, succeeded, failed, error, summary }).catch(() => {});
  }

  async #takeUp(index: number, find: NonNullable<StoreOutputOptions["findKept"]>): Promise<EarlierRun | null> {
    const kept = await find(index);
    const earlier = kept === null ? null : toEarlierRun(fromStored(kept));
    // What was said of an output that is made again is gone with it.
    if (kept !== null && earlier === null) await this.#hold.forget([index]);
    return earlier;
  }

  async #write(unit: UnitWrite): Promise<void> {
    const failure = await this.#writer.add(unit);
    if (failure !== null) throw new RolloutError("io_failed", `a result could not be kept: ${failure}`);
  }
}
