import { RunningMean } from "../../analysis/running-mean.ts";
import type { Clock } from "../../base/clock.ts";
import type { RunListener } from "../../store/run.ts";
import { messageOf } from "../../base/rollout-error.ts";
import type { AggregateAnswer } from "../protocol.ts";
import { describeHead, labelsOf, toUnit, type ExperimentNames } from "./describe-experiment.ts";
import type { PlannedRun } from "./example.ts";
import type { FinishedRun } from "./experiment-run.ts";

/** What became of an experiment. */
export interface ExperimentSummary {
  readonly id: string;
  readonly status: "completed" | "failed" | "cancelled";
  readonly totalRuns: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  /** Evaluations that failed. */
  readonly failedEvaluations: number;
  readonly averageScores: Readonly<Record<string, number | null>>;
  readonly aggregates: readonly AggregateAnswer[];
  readonly error: string | null;
  /** What was thrown, when there is an error. */
  readonly cause: unknown;
  readonly location: string;
}

export interface TallyOptions extends ExperimentNames {
  readonly clock: Clock;
  /** Null when nobody listens: nothing is put into words then. */
  readonly onEvent: RunListener | null;
}

/** How an experiment came to its end. */
export interface ExperimentEnd {
  /** What was thrown and kept it from going on; null when nothing was. */
  readonly cause: unknown;
  readonly isCancelled: boolean;
  readonly aggregates: readonly AggregateAnswer[];
}

/** Counts runs as they end and tells of them in the words that all doors share. */
export class ExperimentTally {
  readonly #options: TallyOptions;
  readonly #scores = new Map<string, RunningMean>();
  readonly #began: number;
  #succeeded = 0;
  #failed = 0;
  #failedEvaluations = 0;

  constructor(options: TallyOptions) {
    const { evaluators, clock, onEvent } = options;
    this.#options = options;
    this.#began = clock.monotonic();
    for (const evaluator of evaluators) this.#scores.set(evaluator, new RunningMean());
    onEvent?.({ type: "run_started", at: clock.now(), run: describeHead(options) });
  }

  begin(run: PlannedRun): void {
    const { clock, onEvent } = this.#options;
    onEvent?.({ type: "unit_started", at: clock.now(), key: run.runId, labels: labelsOf(run, this.#options) });
  }

  /** For people: how far a phase is that ends no run. */
  tell(line: string): void {
    const { clock, onEvent } = this.#options;
    onEvent?.({ type: "run_activity", at: clock.now(), line });
  }

  finish(finished: FinishedRun): void {
    const { outcome, evaluations, failureType } = finished;
    if (failureType === "run_cancelled") return;
    if (outcome.error === null) this.#succeeded++;
    else this.#failed++;
    for (const { evaluator, score, error } of evaluations) {
      if (error !== null) this.#failedEvaluations++;
      if (score !== null) this.#scores.get(evaluator)?.addCluster([score]);
    }
    const { clock, onEvent } = this.#options;
    onEvent?.({
      type: finished.isKept ? "unit_kept" : "unit_finished",
      at: clock.now(),
      unit: toUnit(finished, this.#options),
    });
  }

  end({ cause, isCancelled, aggregates }: ExperimentEnd): ExperimentSummary {
    const { id, location, total, clock, onEvent } = this.#options;
    const skipped = total - this.#succeeded - this.#failed;
    const error = cause === null ? null : messageOf(cause);
    const status = error !== null ? "failed" : isCancelled ? "cancelled" : "completed";
    onEvent?.({
      type: "run_finished",
      at: clock.now(),
      tail: {
        status: status === "failed" ? "unfinished" : status,
        skipped,
        durationSec: (clock.monotonic() - this.#began) / 1000,
        sittings: 1,
        wholeMarks: aggregates.map(({ aggregate, score, explanation, error: why }) => ({
          name: aggregate,
          value: score,
          note: why ?? explanation ?? null,
        })),
        next: [],
      },
    });
    return {
      id,
      status,
      totalRuns: total,
      succeeded: this.#succeeded,
      failed: this.#failed,
      skipped,
      failedEvaluations: this.#failedEvaluations,
      averageScores: Object.fromEntries(Array.from(this.#scores, ([name, { mean }]) => [name, mean])),
      aggregates,
      error,
      cause,
      location,
    };
  }
}
