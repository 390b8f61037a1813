import { RunningMean } from "../../analysis/running-mean.ts";
import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { RunListener } from "../../store/run.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { ProblemCounter, type ProtocolProblems } from "../executor/protocol-problems.ts";
import type { AggregateAnswer } from "../protocol.ts";
import type { EarlierSessions } from "../output/earlier-sessions.ts";
import {
  describeHead,
  describeNotes,
  labelsOf,
  toUnit,
  toWholeMark,
  type ExperimentNames,
} from "./describe-experiment.ts";
import type { PlannedRun } from "./example.ts";
import type { FinishedRun } from "./experiment-run.ts";

/** What was said of the whole run, and when, in milliseconds since the epoch. */
export interface WholeAnswer extends AggregateAnswer {
  readonly asOf: number;
}

/** Evaluators that were asked about outputs that were there already. */
export interface Scoring {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** As it was typed. */
  readonly file: string;
  readonly evaluators: readonly string[];
  readonly params: JsonObject;
}

/** What became of an experiment. */
export interface ExperimentSummary {
  /** The first run of this session that failed, in words; null when none did. */
  readonly firstFailure: string | null;
  readonly id: string;
  readonly status: "completed" | "failed" | "cancelled";
  readonly totalRuns: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  /** Evaluations that failed. */
  readonly failedEvaluations: number;
  readonly averageScores: Readonly<Record<string, number | null>>;
  readonly aggregates: readonly WholeAnswer[];
  /** What the tasks and evaluators were given. */
  readonly params: JsonObject;
  /** Of all sessions, without what was scored anew. */
  readonly durationSec: number;
  /** How often it was taken up. */
  readonly sessions: number;
  readonly scorings: readonly Scoring[];
  /** Messages of executors that were no answers, in all sessions. */
  readonly protocolProblems: ProtocolProblems;
  readonly error: string | null;
  /** What was thrown, when there is an error. */
  readonly cause: unknown;
  readonly location: string;
}

export interface TallyOptions extends ExperimentNames {
  /** Null for a new experiment. */
  readonly earlier: EarlierSessions | null;
  /** Set when outputs that are there are scored anew. */
  readonly scoring: Omit<Scoring, "at"> | null;
  /** What else people should know of it, a line each. */
  readonly notes: readonly string[];
  /** Commands worth typing next. */
  readonly next: (counts: ExperimentCounts) => readonly string[];
  readonly problems?: ProblemCounter | undefined;
  readonly clock: Clock;
  /** Null when nobody listens: nothing is put into words then. */
  readonly onEvent: RunListener | null;
}

/** What tells whether anything is left to do. */
export type ExperimentCounts = Pick<
  ExperimentSummary,
  "status" | "failed" | "skipped" | "failedEvaluations" | "aggregates"
>;

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
  #firstFailure: string | null = null;

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
    if (this.#firstFailure === null && !finished.isKept) this.#firstFailure = describeFailure(finished, this.#options);
    const { clock, onEvent } = this.#options;
    onEvent?.({
      type: finished.isKept ? "unit_kept" : "unit_finished",
      at: clock.now(),
      unit: toUnit(finished, this.#options),
    });
  }

  end({ cause, isCancelled, aggregates }: ExperimentEnd): ExperimentSummary {
    const { id, location, total, clock, onEvent, params, earlier, scoring, next } = this.#options;
    const { problems = new ProblemCounter() } = this.#options;
    const now = clock.now();
    const error = cause === null ? null : messageOf(cause);
    const fresh = aggregates.map((answer) => ({ ...answer, asOf: now }));
    const kept = earlier?.aggregates.filter((one) => !fresh.some(({ aggregate }) => aggregate === one.aggregate)) ?? [];
    const scorings = [...(earlier?.scorings ?? []), ...(scoring === null ? [] : [{ ...scoring, at: now }])];
    const summary: ExperimentSummary = {
      id,
      status: error !== null ? "failed" : isCancelled ? "cancelled" : "completed",
      totalRuns: total,
      succeeded: this.#succeeded,
      failed: this.#failed,
      skipped: total - this.#succeeded - this.#failed,
      failedEvaluations: this.#failedEvaluations,
      averageScores: Object.fromEntries(Array.from(this.#scores, ([name, { mean }]) => [name, mean])),
      aggregates: [...kept, ...fresh],
      params,
      ...this.#measure(),
      scorings,
      protocolProblems: problems.totalWith(earlier?.protocolProblems ?? {}),
      error,
      cause,
      location,
      firstFailure: this.#firstFailure,
    };
    onEvent?.({
      type: "run_finished",
      at: now,
      tail: {
        status: summary.status === "failed" ? "unfinished" : summary.status,
        skipped: summary.skipped,
        hasFailed: hasFailed(summary),
        durationSec: summary.durationSec,
        sessions: summary.sessions,
        wholeMarks: summary.aggregates.map((answer) => toWholeMark(answer, scorings)),
        notes: [...this.#options.notes, ...describeNotes(summary)],
        next: next(summary),
      },
    });
    return summary;
  }

  /** Scoring anew adds nothing to how long the runs took. */
  #measure(): Pick<ExperimentSummary, "durationSec" | "sessions"> {
    const { earlier, scoring, clock } = this.#options;
    const { durationSec = null, sessions = 0 } = earlier ?? {};
    if (scoring !== null && durationSec !== null) return { durationSec, sessions };
    const ownSec = (clock.monotonic() - this.#began) / 1000;
    return { durationSec: (durationSec ?? 0) + ownSec, sessions: scoring === null ? sessions + 1 : sessions };
  }
}

function hasFailed({ status, failed, totalRuns }: ExperimentSummary): boolean {
  return status === "completed" && failed > 0 && failed === totalRuns;
}

function describeFailure(finished: FinishedRun, names: ExperimentNames): string | null {
  if (finished.outcome.error === null && finished.evaluations.every(({ error }) => error === null)) return null;
  const { key, failure, warnings } = toUnit(finished, names);
  const why = failure?.message ?? warnings[0];
  return why === undefined ? null : `${key}: ${why.slice(0, 300)}`;
}
