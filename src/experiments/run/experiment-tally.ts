import { RunningMean } from "../../analysis/running-mean.ts";
import type { Clock } from "../../base/clock.ts";
import type { RunListener, Unit, UnitFailure } from "../../store/run.ts";
import type { AggregateAnswer, DiscoverAnswer } from "../protocol.ts";
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
  readonly location: string;
}

export interface TallyOptions {
  readonly id: string;
  readonly discovered: DiscoverAnswer;
  readonly location: string;
  readonly total: number;
  readonly repetitions: number;
  readonly concurrency: number;
  readonly clock: Clock;
  readonly onEvent: RunListener;
}

/** How an experiment came to its end. */
export interface ExperimentEnd {
  /** What kept it from going on. */
  readonly error: string | null;
  readonly isCancelled: boolean;
  readonly aggregates: readonly AggregateAnswer[];
}

/** Counts runs as they end and tells of them in the words that all doors share. */
export class ExperimentTally {
  readonly #options: TallyOptions;
  readonly #name: string;
  readonly #scores = new Map<string, RunningMean>();
  readonly #began: number;
  #succeeded = 0;
  #failed = 0;
  #failedEvaluations = 0;

  constructor(options: TallyOptions) {
    const { id, discovered, clock, total } = options;
    this.#options = options;
    this.#name = discovered.name ?? id;
    this.#began = clock.monotonic();
    const [first = "", ...others] = discovered.evaluators;
    for (const name of discovered.evaluators) this.#scores.set(name, new RunningMean());
    options.onEvent({
      type: "run_started",
      at: clock.now(),
      run: {
        id,
        kind: "experiment",
        name: id,
        total,
        groups: [{ labels: { experiment: this.#name }, total }],
        concurrency: options.concurrency,
        shape: {
          groupBy: ["experiment"],
          itemLabel: "example",
          markName: first,
          otherMarks: others,
          tellsCost: false,
          passAt: 1,
          isScore: true,
          unitNoun: "run",
        },
        metrics: [],
        location: options.location,
      },
    });
  }

  begin(run: PlannedRun): void {
    const { clock, onEvent } = this.#options;
    onEvent({ type: "unit_started", at: clock.now(), key: run.runId, labels: this.#labelsOf(run) });
  }

  /** For people: how far a phase is that ends no run. */
  tell(line: string): void {
    const { clock, onEvent } = this.#options;
    onEvent({ type: "run_activity", at: clock.now(), line });
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
    onEvent({ type: finished.isKept ? "unit_kept" : "unit_finished", at: clock.now(), unit: this.#toUnit(finished) });
  }

  end({ error, isCancelled, aggregates }: ExperimentEnd): ExperimentSummary {
    const { id, location, total, clock, onEvent } = this.#options;
    const skipped = total - this.#succeeded - this.#failed;
    const status = error !== null ? "failed" : isCancelled ? "cancelled" : "completed";
    onEvent({
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
      location,
    };
  }

  #labelsOf({ example, repetition }: PlannedRun): Record<string, string> {
    const labels = { experiment: this.#name, example: example.id };
    return this.#options.repetitions === 1 ? labels : { ...labels, repetition: String(repetition) };
  }

  #toUnit({ run, outcome, failureType, evaluations, durationMs }: FinishedRun): Unit {
    return {
      key: run.runId,
      labels: this.#labelsOf(run),
      marks: evaluations.map(({ evaluator, score }) => ({ name: evaluator, value: score })),
      failure: failureOf(outcome.error, failureType),
      phases: [],
      durationSec: durationMs / 1000,
      cost: null,
      tries: 1,
      warnings: evaluations.flatMap(({ evaluator, error }) =>
        error === null ? [] : [`evaluator "${evaluator}" failed: ${error}`],
      ),
    };
  }
}

function failureOf(error: string | null, type: FinishedRun["failureType"]): UnitFailure | null {
  return error === null ? null : { type: type ?? "task_failed", message: error, blame: "agent" };
}
