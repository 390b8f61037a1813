import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { RunEvents, type EventListener } from "../../store/run-events.ts";
import { durationSecOf, type Run, type RunEvent, type RunSession } from "../../store/run.ts";
import { ProblemCounter, type ProtocolProblems } from "../executor/protocol-problems.ts";
import type { EarlierSessions } from "../output/earlier-sessions.ts";
import { experimentShape } from "../output/plan-experiment.ts";
import type { AggregateAnswer } from "../protocol.ts";
import type { PlannedRun } from "./example.ts";
import { ExperimentCounter, type CounterOptions } from "./experiment-counter.ts";
import type { FinishedRun } from "./experiment-run.ts";
import { toRun } from "./to-run.ts";
import { labelsOf, toCounted, toUnit, type ExperimentNames } from "./to-unit.ts";

/** An aggregate's answer about the whole run, and when it was given, in milliseconds since the epoch. */
export interface RunAnswer extends AggregateAnswer {
  readonly asOf: number;
}

/** Evaluators that scored outputs of an earlier session. */
export interface Scoring {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** As it was typed. */
  readonly file: string;
  readonly evaluators: readonly string[];
  readonly params: JsonObject;
}

/** The result of an experiment. */
export interface ExperimentSummary {
  /** The first run of this session that failed; null if none did. */
  readonly firstFailure: string | null;
  readonly id: string;
  readonly status: "completed" | "failed" | "cancelled";
  readonly totalRuns: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failedEvaluations: number;
  readonly averageScores: Readonly<Record<string, number | null>>;
  readonly aggregates: readonly RunAnswer[];
  /** The parameters of tasks and evaluators. */
  readonly params: JsonObject;
  /** Of all sessions, without later scoring. */
  readonly durationSec: number;
  readonly sessions: readonly RunSession[];
  readonly scorings: readonly Scoring[];
  /** Messages of executors that were not answers, in all sessions. */
  readonly protocolProblems: ProtocolProblems;
  /** Of all sessions, among them the first error of an event listener. */
  readonly warnings: readonly string[];
  readonly error: string | null;
  /** What was thrown, if there is an error. */
  readonly cause: unknown;
  readonly location: string;
}

/** The summary of an experiment, and the experiment as a run. */
export interface ExperimentOutcome extends ExperimentSummary {
  readonly run: Run;
}

export interface TallyOptions extends ExperimentNames, CounterOptions {
  /** The experiment as it is stored. */
  readonly run: Run;
  readonly params: JsonObject;
  /** Null for a new experiment. */
  readonly earlier: EarlierSessions | null;
  /** Set when outputs of an earlier session are scored. */
  readonly scoring: Omit<Scoring, "at"> | null;
  /** Remarks for people, a line each. */
  readonly notes: readonly string[];
  /** Commands to type next. */
  readonly next: (counts: ExperimentCounts) => readonly string[];
  readonly problems?: ProblemCounter | undefined;
  readonly clock: Clock;
  readonly onEvent: EventListener | null;
}

/** The counts that decide whether anything is left to do. */
export type ExperimentCounts = Pick<
  ExperimentSummary,
  "status" | "failed" | "skipped" | "failedEvaluations" | "aggregates"
>;

/** How an experiment ended. */
export interface ExperimentEnd {
  /** The error that ended it early; null if there was none. */
  readonly cause: unknown;
  readonly isCancelled: boolean;
  readonly aggregates: readonly AggregateAnswer[];
}

/** Stores the end of an experiment. */
export type StoreEnd = (run: Run, summary: ExperimentSummary) => Promise<void>;

// Further ones are only sent as events.
const maxWarnings = 50;

/** Counts runs as they end, sends their events and describes the experiment as a run. */
export class ExperimentTally {
  readonly #options: TallyOptions;
  readonly #events: RunEvents;
  readonly #problems: ProblemCounter;
  readonly #counter: ExperimentCounter;
  readonly #warnings: Set<string>;
  readonly #startedAt: number;
  readonly #began: number;
  #firstFailure: string | null = null;
  /** Resolves once the listener has handled the events so far. */
  #sent: Promise<void> = Promise.resolve();

  constructor(options: TallyOptions) {
    const { clock, onEvent, run } = options;
    this.#options = options;
    this.#problems = options.problems ?? new ProblemCounter();
    this.#events = new RunEvents(onEvent, (message) => this.warn(message));
    this.#counter = new ExperimentCounter(options);
    this.#warnings = new Set(run.warnings);
    this.#startedAt = clock.now();
    this.#began = clock.monotonic();
  }

  /** Sends the event that starts the run. */
  async start(): Promise<void> {
    await this.#send({ type: "run_started", at: this.#startedAt, run: this.describe() });
  }

  begin(run: PlannedRun): void {
    if (!this.#events.isObserved) return;
    const labels = labelsOf(run, this.#options);
    void this.#send({ type: "unit_started", at: this.#options.clock.now(), key: run.runId, labels });
  }

  /** Shows people the progress of a phase in which no run ends. */
  reportActivity(line: string): void {
    void this.#send({ type: "run_activity", at: this.#options.clock.now(), line });
  }

  warn(message: string): void {
    if (this.#warnings.size < maxWarnings) this.#warnings.add(message);
    void this.#send({ type: "warning", at: this.#options.clock.now(), message });
  }

  /** Counts a run. The promise resolves once the listener has handled the event. */
  async finish(finished: FinishedRun): Promise<void> {
    this.#counter.add(toCounted(finished));
    if (this.#firstFailure === null && !finished.isKept) this.#firstFailure = describeFailure(finished, this.#options);
    if (!this.#events.isObserved) return;
    const type = finished.isKept ? "unit_restored" : "unit_finished";
    await this.#send({ type, at: this.#options.clock.now(), unit: toUnit(finished, this.#options) });
  }

  /** Returns the experiment so far as a run. */
  describe(): Run {
    const now = this.#options.clock.now();
    return this.#toRun("running", this.#summarize({ cause: null, isCancelled: false, aggregates: [] }, now), now);
  }

  /** Stores the end of the experiment, then sends its last event. An end that cannot be stored is a failure. */
  async end(end: ExperimentEnd, storeEnd: StoreEnd): Promise<ExperimentOutcome> {
    const { clock, next } = this.#options;
    await this.#sent;
    const now = clock.now();
    const stored = await this.#store(this.#summarize(end, now), storeEnd, now);
    const run = this.#toRun(stored.status, stored, now);
    await this.#send({ type: "run_finished", at: clock.now(), run, next: next(stored) });
    const warnings = [...this.#warnings];
    return { ...stored, warnings, run: { ...run, warnings } };
  }

  async #store(summary: ExperimentSummary, storeEnd: StoreEnd, now: number): Promise<ExperimentSummary> {
    try {
      await storeEnd(this.#toRun(summary.status, summary, now), summary);
      return summary;
    } catch (thrown) {
      const error = `the end of the experiment could not be stored: ${messageOf(thrown)}`;
      if (summary.error === null) return { ...summary, status: "failed", error, cause: thrown };
      this.warn(error);
      return summary;
    }
  }

  #send(event: RunEvent): Promise<void> {
    this.#sent = this.#events.emit(event);
    return this.#sent;
  }

  #summarize({ cause, isCancelled, aggregates }: ExperimentEnd, now: number): ExperimentSummary {
    const { run, params, earlier, scoring } = this.#options;
    const { succeeded, failed, failedEvaluations, averageScores } = this.#counter;
    const error = cause === null ? null : messageOf(cause);
    const fresh = aggregates.map((answer) => ({ ...answer, asOf: now }));
    const kept = earlier?.aggregates.filter((one) => !fresh.some(({ aggregate }) => aggregate === one.aggregate)) ?? [];
    const sessions = this.#sessions(now);
    return {
      id: run.id,
      status: error !== null ? "failed" : isCancelled ? "cancelled" : "completed",
      totalRuns: run.plan.total,
      succeeded,
      failed,
      skipped: run.plan.total - succeeded - failed,
      failedEvaluations,
      averageScores,
      aggregates: [...kept, ...fresh],
      params,
      durationSec: durationSecOf({ sessions }),
      sessions,
      scorings: [...(earlier?.scorings ?? []), ...(scoring === null ? [] : [{ ...scoring, at: now }])],
      protocolProblems: this.#problems.totalWith(earlier?.protocolProblems ?? {}),
      warnings: [...this.#warnings],
      error,
      cause,
      location: run.location,
      firstFailure: this.#firstFailure,
    };
  }

  /** Returns the sessions up to now. Later scoring is not a session: it adds nothing to the duration of the runs. */
  #sessions(now: number): readonly RunSession[] {
    const { run, scoring, clock } = this.#options;
    if (scoring !== null) return run.sessions;
    const durationSec = Math.round(clock.monotonic() - this.#began) / 1000;
    return [...run.sessions, { startedAt: this.#startedAt, endedAt: now, durationSec }];
  }

  #toRun(status: "running" | ExperimentSummary["status"], summary: ExperimentSummary, now: number): Run {
    const { run, evaluators, repetitions, passAt, notes, scoring } = this.#options;
    return toRun(run, {
      status,
      summary,
      counted: this.#counter.describe(),
      shape: experimentShape(evaluators, { total: run.plan.total, repetitions, passAt }),
      notes,
      isScoring: scoring !== null,
      now,
    });
  }
}

function describeFailure(finished: FinishedRun, names: ExperimentNames): string | null {
  if (finished.outcome.error === null && finished.evaluations.every(({ error }) => error === null)) return null;
  const { key, failure, warnings } = toUnit(finished, names);
  const why = failure?.message ?? warnings[0];
  return why === undefined ? null : `${key}: ${why.slice(0, 300)}`;
}
