import type { Clock } from "../base/clock.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { toRaw } from "../base/raw-json.ts";
import { messageOf } from "../base/rollout-error.ts";
import { RunningMean } from "../analysis/running-mean.ts";
import type { RunListener, Unit, UnitFailure } from "../store/run.ts";
import { ExecutorPool } from "./executor/executor-pool.ts";
import type { ExecutorNote } from "./executor/executor-voice.ts";
import type { StartExecutor } from "./executor/start-executor.ts";
import type { ExperimentOutput } from "./output/experiment-output.ts";
import type { DiscoverAnswer } from "./protocol.ts";
import { runIdOf, type Example, type PlannedRun } from "./run/example.ts";
import { runExperiment, type ExperimentRules, type FinishedRun } from "./run/experiment-run.ts";

export interface ExperimentOptions {
  readonly id: string;
  readonly startExecutor: StartExecutor;
  readonly params: JsonObject;
  readonly repetitions: number;
  readonly processes: number;
  readonly rules: ExperimentRules;
  /** How many examples there are. */
  readonly exampleCount: number;
  readonly examples: () => AsyncIterable<Example>;
  /** Opens where results go once it is known what the experiment is. */
  readonly openOutput: (discovered: DiscoverAnswer, params: JsonObject) => Promise<ExperimentOutput>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onEvent: RunListener;
  readonly onNote: (note: ExecutorNote) => void;
}

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
  readonly error: string | null;
  readonly location: string;
}

/** Runs an experiment from its discovery to the shutdown of its executors. Rejects only before the first task. */
export async function performExperiment(options: ExperimentOptions): Promise<ExperimentSummary> {
  const { clock, signal, rules, onNote } = options;
  await using pool = await ExecutorPool.open({
    processes: options.processes,
    clock,
    signal,
    start: () =>
      options.startExecutor({
        maxWorkers: Math.ceil(rules.maxWorkers / options.processes),
        params: options.params,
        clock,
        signal,
        onNote,
      }),
    onRestart: (how) =>
      options.onEvent({
        type: "warning",
        at: clock.now(),
        message: `an executor was lost and is started again: ${how}`,
      }),
  });
  const { discovered } = pool.first;
  const params: JsonObject = { ...discovered.params, ...options.params };
  await using output = await options.openOutput(discovered, params);
  const tally = new ExperimentTally(options, discovered, output.location);
  let error: string | null = null;
  try {
    await runExperiment({
      pool,
      evaluators: discovered.evaluators,
      params: toRaw(params),
      rules,
      output,
      clock,
      signal,
      nextRun: planRuns(options),
      onStarted: (run) => tally.begin(run),
      onFinished: (finished) => tally.finish(finished),
    });
    await pool.shutdown();
  } catch (thrown) {
    error = messageOf(thrown);
  }
  const summary = tally.summarize(error);
  if (error !== null) await output.fail(error);
  else await output.complete(summaryJson(summary));
  tally.end(summary);
  return summary;
}

/** Every example as often as it is repeated, in order. */
function planRuns({ examples, repetitions }: ExperimentOptions): () => Promise<PlannedRun | null> {
  async function* plan(): AsyncGenerator<PlannedRun, void> {
    let index = 0;
    for await (const example of examples())
      for (let repetition = 1; repetition <= repetitions; repetition++)
        yield { index: index++, runId: runIdOf(example.id, repetition), example, repetition };
  }
  const runs = plan();
  return async () => {
    const { value, done } = await runs.next();
    return done === true ? null : value;
  };
}

/** Counts runs as they end and tells of them in the words that all doors share. */
class ExperimentTally {
  readonly #options: ExperimentOptions;
  readonly #name: string;
  readonly #location: string;
  readonly #scores = new Map<string, RunningMean>();
  readonly #began: number;
  #succeeded = 0;
  #failed = 0;
  #failedEvaluations = 0;

  constructor(options: ExperimentOptions, discovered: DiscoverAnswer, location: string) {
    this.#options = options;
    this.#name = discovered.name ?? options.id;
    this.#location = location;
    this.#began = options.clock.monotonic();
    const [first = "", ...others] = discovered.evaluators;
    for (const name of discovered.evaluators) this.#scores.set(name, new RunningMean());
    options.onEvent({
      type: "run_started",
      at: options.clock.now(),
      run: {
        id: options.id,
        kind: "experiment",
        name: options.id,
        total: this.#total,
        groups: [{ labels: { experiment: this.#name }, total: this.#total }],
        concurrency: options.rules.maxWorkers,
        shape: {
          groupBy: ["experiment"],
          itemLabel: "example",
          markName: first,
          otherMarks: others,
          tellsCost: false,
          passAt: 1,
          unitNoun: "run",
        },
        metrics: [],
        location,
      },
    });
  }

  get #total(): number {
    return this.#options.exampleCount * this.#options.repetitions;
  }

  begin(run: PlannedRun): void {
    const { clock, onEvent } = this.#options;
    onEvent({ type: "unit_started", at: clock.now(), key: run.runId, labels: this.#labelsOf(run) });
  }

  finish(finished: FinishedRun): void {
    const { outcome, evaluations } = finished;
    if (outcome.error === null) this.#succeeded++;
    else this.#failed++;
    for (const { evaluator, score, error } of evaluations) {
      if (error !== null) this.#failedEvaluations++;
      if (score !== null) this.#scores.get(evaluator)?.addCluster([score]);
    }
    this.#options.onEvent({ type: "unit_finished", at: this.#options.clock.now(), unit: this.#toUnit(finished) });
  }

  summarize(error: string | null): ExperimentSummary {
    const skipped = this.#total - this.#succeeded - this.#failed;
    return {
      id: this.#options.id,
      status: error !== null ? "failed" : this.#options.signal.aborted ? "cancelled" : "completed",
      totalRuns: this.#total,
      succeeded: this.#succeeded,
      failed: this.#failed,
      skipped,
      failedEvaluations: this.#failedEvaluations,
      averageScores: Object.fromEntries([...this.#scores].map(([name, { mean }]) => [name, mean])),
      error,
      location: this.#location,
    };
  }

  end({ status, skipped }: ExperimentSummary): void {
    const { clock, onEvent } = this.#options;
    onEvent({
      type: "run_finished",
      at: clock.now(),
      tail: {
        status: status === "failed" ? "unfinished" : status,
        skipped,
        durationSec: (clock.monotonic() - this.#began) / 1000,
        sittings: 1,
        next: [],
      },
    });
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
  if (error === null) return null;
  const blame = type === "run_cancelled" ? "nobody" : "agent";
  return { type: type ?? "task_failed", message: error, blame };
}

/** The summary as it stands in summary.json. */
function summaryJson(summary: ExperimentSummary): Json {
  return {
    experiment_id: summary.id,
    status: summary.status,
    total_runs: summary.totalRuns,
    successful_runs: summary.succeeded,
    failed_runs: summary.failed,
    skipped_runs: summary.skipped,
    failed_evaluations: summary.failedEvaluations,
    average_scores: summary.averageScores,
  };
}
